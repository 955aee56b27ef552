"""Inside models: comparisons, searches, trees, maps, units, worksheets."""

from __future__ import annotations

import math
import pathlib
from typing import Any

import attend
import attend.datasets
import pytest

PAIRS = attend.datasets.reverse(train_count=300, valid_count=10, max_string_length=8)


@pytest.fixture(scope="module")
def model() -> attend.Model:
    return attend.train("pairs", PAIRS, hidden_size=12, steps=30, progress=False)


@pytest.fixture(scope="module")
def lm() -> attend.Model:
    text = "the cat (a small one) sat on the mat\n"
    return attend.train("lm", [text] * 60, hidden_size=12, steps=10, progress=False)


@pytest.fixture(scope="module")
def transformer() -> attend.Model:
    return attend.train("pairs", PAIRS, architecture="transformer", hidden_size=16, heads=2,
                        layers=1, steps=3, progress=False)


def test_two_models_are_compared_line_by_line(
    model: attend.Model, transformer: attend.Model, tmp_path: pathlib.Path
) -> None:
    pairs = PAIRS[:30]
    found = model.compare(transformer, pairs, metrics=["chrf"], resamples=100)
    assert found.lines == 30 and {"exact_match", "chrf"} <= {row.name for row in found}
    row = found["chrf"]
    assert row.value == pytest.approx(model.evaluate(pairs, metrics=["chrf"])["chrf"].value)
    assert 0 < row.bootstrap_p <= 1 and 0 < row.randomization_p <= 1
    same = model.compare([model], pairs, resamples=50)
    assert same["exact_match"].value == same["exact_match"].baseline
    assert math.isnan(same["exact_match"].bootstrap_p) and " -" in str(same)
    assert same == model.compare([model], pairs, resamples=50)
    assert "p (bootstrap)" in str(found) and "<table" in found._repr_html_() and len(found) > 3
    (tmp_path / "d.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in pairs))
    assert model.compare(transformer, tmp_path / "d.tsv", metrics=["chrf"], resamples=100) == found
    with pytest.raises(KeyError):
        found["bleu"]
    with pytest.raises(ZeroDivisionError):
        model.compare(transformer, (1 // 0 for _ in range(3)))


def test_the_search_trains_the_best_of_several_settings(tmp_path: pathlib.Path) -> None:
    events: list[dict[str, Any]] = []
    out = tmp_path / "best.safetensors"
    found = attend.search("reverse", tries=3, out=out, train_count=200, valid_count=20,
                          hidden_size=8, steps=4, callback=events.append, progress=False)
    assert len(found.tries) == 3 and found.tries[0].steps >= found.tries[-1].steps
    assert found.path == str(out) and out.exists() and found.command.startswith("reverse")
    assert attend.Model.load(out).to_bytes() == found.model.to_bytes()
    assert events[-1]["rounds"] == events[-1]["round"] > 1 and {e["try"] for e in events} == {1, 2, 3}

    def fail(event: dict[str, Any]) -> None:
        raise ArithmeticError("in the callback")

    for callback, error in ((fail, ArithmeticError), (lambda _: False, InterruptedError)):
        with pytest.raises(error):
            attend.search("reverse", tries=2, out=tmp_path / "o.safetensors", train_count=200,
                          valid_count=20, hidden_size=8, steps=4, callback=callback, progress=False)
    pairs: Any = PAIRS
    with pytest.raises(TypeError, match="data: expected a path"):
        attend.search("pairs", pairs, out=out)
    with pytest.raises(FileNotFoundError):
        attend.search("pairs", "missing.tsv", out=out)


def test_steps_and_beams_can_be_looked_into(model: attend.Model, lm: attend.Model) -> None:
    steps = model.alternatives("abc", "cba", count=4)
    assert [step.token for step in steps.steps] == ["c", "b", "a", "<end>"]
    first = steps.steps[0]
    assert len(first.tokens) == 4 and first.tokens[0][1] >= first.tokens[1][1] and first.rank >= 1
    assert "<html" in steps.html() and steps._repr_html_().startswith("<iframe")
    assert lm.alternatives("the").steps
    own = model.alternatives("abc", beam=3, ensemble=[model])
    assert "".join(step.token or "" for step in own.steps) == "".join(
        model.generate("abc", beam=3).target_tokens
    )
    grown = lm.beam_tree("the ", beam=2, max_output_length=3)
    assert sorted(node.step for node in grown.nodes if node.fate == "best") == [1, 2, 3]
    tree = model.beam_tree("abc", beam=3)
    best = [node for node in tree.nodes if node.fate == "best"]
    text = "".join(node.token for node in best if node.token != "<end>")
    assert text == model.generate("abc", beam=3).text
    assert tree._repr_svg_().lstrip().startswith("<svg") and str(tree)
    assert "<svg" in model.curves()
    with pytest.raises(attend.Error):
        model.beam_tree("abc", beam=1)
    for count in (0, 101):
        with pytest.raises(attend.Error, match=f"1 to 100 alternatives, found {count}"):
            model.alternatives("abc", count=count)
    with pytest.raises(attend.Error, match="zero character"):
        model.alternatives("a\0c")
    wrong: Any = 3
    with pytest.raises(TypeError):
        model.alternatives(wrong)


def test_labels_and_captions_have_alternatives() -> None:
    sorted_lines = [("a a b", "many"), ("b b a", "few")] * 20
    sorts = attend.train("classify", sorted_lines, valid=sorted_lines, hidden_size=8, steps=2,
                         progress=False)
    (step,) = sorts.alternatives("a b").steps
    assert {label for label, _ in step.tokens} == {"many", "few"} and step.source is None
    assert step.token == step.tokens[0][0] and sum(p for _, p in step.tokens) == pytest.approx(1)
    with pytest.raises(attend.Error, match="searches no beam"):
        sorts.beam_tree("a b", beam=2)
    tagged = [("a b", "B-x O"), ("b a", "O B-x")] * 20
    tags = attend.train("tag", tagged, valid=tagged, hidden_size=8, crf=True, steps=2,
                        progress=False)
    labels = tags.alternatives("b a b", count=1).steps
    assert [one.source for one in labels] == ["b", "a", "b"] and len(labels[0].tokens) == 1
    images, captions = attend.datasets.shapes(train_count=20, image_size=24)
    sees = attend.train("caption", list(enumerate(captions)), features=images, valid_fraction=0.2,
                        hidden_size=8, steps=1, progress=False)
    said = sees.caption(images[:1], beam=2)[0]
    found = sees.alternatives(images[:1], beam=2)
    assert [one.token for one in found.steps] == said.target_tokens
    tree = sees.beam_tree(images[:1], beam=2)
    assert [node.token for node in tree.nodes if node.fate == "best"] == said.target_tokens
    for refused in (images[:2], "a line"):
        with pytest.raises(attend.Error, match="image"):
            sees.alternatives(refused)
        with pytest.raises(attend.Error, match="image"):
            sees.beam_tree(refused, beam=2)


def test_a_whole_model_is_a_worksheet(transformer: attend.Model) -> None:
    sheet = transformer.sheet("abc", "cba")
    sheet.check()
    assert sheet.checks > 0 and sheet.name == "model"
    with pytest.raises(attend.Error):
        transformer.sheet("abc", "cba", step=99)


def test_inside_a_transformer(transformer: attend.Model) -> None:
    shown = transformer.attention_map("abc", block="encoder", layer=1, every_head=True)
    assert shown.weights.shape[0] == 2 and shown.weights.shape[1] == shown.weights.shape[2]
    sheet = transformer.head_sheet("abc", layer=1, head=2)
    sheet.check()
    assert sheet.checks > 0
    with pytest.raises(attend.Error):
        transformer.attention_map("abc", block="encoder", layer=9)
    assert transformer.attention_layers == {"encoder": 1, "decoder": 1, "cross": 1, "heads": 2}
    overview = transformer.attention_overview("abc")
    assert overview.weights.shape[0] == 2 and overview.panel_columns > 0
    assert "<svg" in overview.svg() and "<html" in shown.html(arcs=True)
    forced = transformer.attention_map("abc", "cba")
    assert forced.query_labels == ["c", "b", "a", "<end>"]
    assert transformer.attention_map("abc", "cba", head=1).weights.shape[0] == 1


def test_inside_a_recurrent_model(lm: attend.Model) -> None:
    flow = lm.gradient_flow("the cat sat")
    assert flow.loss > 0 and len(next(iter(flow.layers.values()))) == 10
    unit = lm.unit_activations("the cat", 1)
    assert "".join(unit.tokens) == "the cat" and "<svg" in unit._repr_svg_()
    cells = lm.cells(text="the (cat) sat\n" * 150, patterns=["cat=cat"])
    assert "cat" in {row["property"] for row in cells.json()["properties"]}
    assert cells.json()["properties"] and "<html" in cells.html() and str(cells)
    with pytest.raises(attend.Error):
        lm.unit_activations("the cat", 99)
