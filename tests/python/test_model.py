"""Models, training, sessions, metrics, datasets."""

from __future__ import annotations

import ctypes
import pathlib
import pickle
import subprocess
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attend
import attend.datasets
import attend.metrics
import numpy as np
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
def classifier() -> attend.Model:
    data = [(f"{word} film number {n}", label) for n in range(50)
            for word, label in (("good", "positive"), ("bad", "negative"))]
    return attend.train("classify", data, hidden_size=12, steps=20, progress=False)


def test_files_bytes_and_pickles_hold_the_same_model(
    model: attend.Model, tmp_path: pathlib.Path
) -> None:
    model.save(tmp_path / "m.safetensors")
    copies = [attend.Model.load(tmp_path / "m.safetensors"), attend.Model(model.to_bytes()),
              pickle.loads(pickle.dumps(model))]
    lines = [source for source, _ in PAIRS[:5]]
    expected = [output.score for output in model.generate(lines)]
    for copy in copies:
        assert copy.to_bytes() == model.to_bytes()
        assert [output.score for output in copy.generate(lines)] == expected


def test_a_quantized_model_is_the_model_loaded_as_int8(
    model: attend.Model, tmp_path: pathlib.Path
) -> None:
    model.save(tmp_path / "m.safetensors")
    small = model.quantize()
    small.save(tmp_path / "s.safetensors")
    loaded = attend.Model.load(tmp_path / "m.safetensors", precision="int8")
    stored = attend.Model.load(tmp_path / "s.safetensors")
    assert small.to_bytes() == loaded.to_bytes() == stored.to_bytes()
    assert model.info["precision"] == "float32" and stored.info["precision"] == "int8"
    assert stored.generate("abc").score == loaded.generate("abc").score
    for name, values in model.parameters.items():
        exact, near = np.asarray(values), np.asarray(small.parameters[name])
        assert np.abs(exact - near).max() <= np.abs(exact).max() / 127
    with pytest.raises(ValueError, match="precision"):
        attend.Model.load(tmp_path / "m.safetensors", precision="int4")  # type: ignore[arg-type]


def test_outputs_have_tokens_scores_and_attention(model: attend.Model) -> None:
    output = model.generate("abc", beam=4, n_best=3, attention=True)
    assert output.source_tokens == ["a", "b", "c"] and len(output.alternatives) == 2
    assert output.weights is not None
    weights = output.weights.numpy()
    assert weights.shape == (len(output.target_tokens), 3)
    np.testing.assert_allclose(weights.sum(1), 1, atol=1e-6)
    assert output.token_scores.numpy().sum() == pytest.approx(output.score)
    assert str(output) == output.text == output.json()["text"]
    assert output.alignment == [(int(row.argmax()), j) for j, row in enumerate(weights)
                                if output.target_tokens[j] != "<end>"]
    shown = output.attention_map()
    np.testing.assert_array_equal(shown.weights[0], weights)
    assert shown.key_labels == ["a", "b", "c"]
    assert output._repr_html_().startswith("<iframe")
    assert model.attention_map("abc", "cba").query_labels == ["c", "b", "a", "<end>"]
    with pytest.raises(ValueError, match="attention=True"):
        model.generate("abc").attention_map()


def test_decoding_options_reach_the_search(model: attend.Model) -> None:
    a, b, c = (model.generate(["abcd"], sample=True, seed=s, temperature=2.0)[0].text
               for s in (1, 1, 2))
    assert a == b != c
    assert len(model.generate("abcd", max_output_length=1).target_tokens) == 1
    assert model.generate("abcd", prefixes=["dc"]).text.startswith("dc")
    assert model.generate([]) == []
    bad: list[tuple[dict[str, Any], str]] = [
        ({"bean": 2}, "unknown option 'bean'; did you mean 'beam'"),
        ({"atention": True}, "did you mean 'attention'"), ({"beam": "x"}, "beam")]
    for wrong, message in bad:
        with pytest.raises(TypeError, match=message):
            model.generate("a", **wrong)
    with pytest.raises(attend.Error):
        model.generate("a", beam=-1)
    median: Any = "median"
    with pytest.raises(attend.Error, match='length_norm: expected one of "mean"'):
        model.generate("a", length_norm=median)


def test_an_ensemble_of_a_model_with_itself_is_the_model(model: attend.Model) -> None:
    alone, both = model.generate("abcd"), model.generate("abcd", ensemble=[model])
    assert alone.text == both.text and alone.score == pytest.approx(both.score, rel=1e-6)


def test_score_is_that_of_forced_outputs(model: attend.Model, lm: attend.Model) -> None:
    forced = model.generate(["abc"], targets=["cba"])[0]
    assert forced.text == "cba" and forced.score == pytest.approx(forced.token_scores.numpy().sum())
    assert model.score(["abc"], ["cba"]) == [forced.score]
    whole = lm.score("the cat sat")
    assert whole.tokens == 10 and whole.perplexity == pytest.approx(np.exp(-whole.score / 10))
    with pytest.raises(TypeError, match="targets"):
        model.score(["abc"])  # type: ignore[call-overload]


def test_tokens_have_places_in_the_text(model: attend.Model, lm: attend.Model) -> None:
    assert [(t.text, t.start, t.end) for t in model.tokenize("abc")] == [
        ("a", 0, 1), ("b", 1, 2), ("c", 2, 3)]
    text = "é the 漢 cat"
    for token in lm.tokenize(text):
        assert text[token.start : token.end] == token.text
    ids = [token.id for token in lm.tokenize("the cat")]
    assert lm.detokenize(ids) == "the cat"
    assert lm.token(ids[0]) == "t" and lm.token(10**6) is None
    with pytest.raises(attend.Error):
        lm.detokenize([10**6])


def versioned(capsule: Any) -> tuple[int, int]:
    """Flags and address of a capsule of DLPack 1.0; it stays with its owner."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    words = ctypes.cast(get(capsule, b"dltensor_versioned"), ctypes.POINTER(ctypes.c_uint64))
    return words[3], words[4]  # after the version, the context and the deleter


def test_parameters_are_read_only_and_can_be_replaced(model: attend.Model) -> None:
    name = next(iter(model.parameters))
    values = model.parameters[name]
    assert values.readonly and not np.asarray(values).flags.writeable
    assert np.shares_memory(np.asarray(values), np.asarray(model.parameters[name]))
    # By DLPack a copy leaves, since consumers write through its flag, unless copy=False asks.
    for version in (None, (1, 0)):
        assert values.__dlpack__(max_version=version) is not None
    np.testing.assert_array_equal(np.from_dlpack(values), values)
    flags, address = versioned(values.__dlpack__(max_version=(1, 0), copy=False))
    assert flags == 1 and address == np.asarray(values).ctypes.data  # read-only, the memory itself
    flags, address = versioned(values.__dlpack__(max_version=(1, 0)))
    assert flags == 2 and address != np.asarray(values).ctypes.data  # a copy
    with pytest.raises(BufferError, match="read-only"):
        values.__dlpack__(copy=False)
    with pytest.raises(KeyError):
        model.parameters["nothing"]
    zeros = {n: np.zeros(p.shape, "f") for n, p in model.parameters.items()}
    blank = model.replace_parameters(zeros)
    assert not np.asarray(blank.parameters[name]).any()
    with pytest.raises(attend.Error):
        model.replace_parameters({"nothing": np.zeros(3, "f")})


def test_completion_streams(lm: attend.Model) -> None:
    stream = lm.complete("the ", max_new_tokens=20)
    pieces = []
    while True:
        try:
            pieces.append(next(stream))
        except StopIteration as stop:
            completion = stop.value
            break
    assert completion.tokens == len(pieces) == 20 and completion.prompt_tokens == 4
    early = lm.complete("the ", max_new_tokens=10**6)
    assert next(early) == pieces[0]
    early.close()
    with pytest.raises(TypeError, match="unknown option"):
        list(lm.complete("a", colour=3))  # type: ignore[call-arg]


def test_classification(classifier: attend.Model) -> None:
    one = classifier.classify("good film", attention=True)
    assert one.label in classifier.labels and sum(one.probabilities.values()) == pytest.approx(1)
    assert one.label == max(one.probabilities, key=lambda label: one.probabilities[label])
    shown = classifier.attention_map("good film")
    assert shown.key_labels == one.tokens and shown.query_labels == [one.label]
    with pytest.raises(ValueError, match="attention=True"):
        classifier.classify("good film").attention_map()
    both = classifier.classify(["good film", "bad film"])
    assert both[0].probabilities == one.probabilities
    result = classifier.evaluate([("good film", "positive"), ("bad film", "negative")])
    assert result["accuracy"] in (0, 0.5, 1)
    with pytest.raises(attend.Error):
        classifier.generate("good")


def test_a_conll_file_gets_a_column_of_labels(tmp_path: pathlib.Path) -> None:
    tagged = [(f"dog {n} runs", "NOUN NUM VERB") for n in range(60)]
    tagger = attend.train("tag", tagged, hidden_size=8, steps=2, seed=1, progress=False)
    path = tmp_path / "d.conll"
    path.write_text("# one\n1\tdog\n2\truns\n\n1\t7\n")
    first, second = tagger.tag(["dog runs", "7"])
    expected = ["# one", f"1\tdog\t{first.labels[0]}", f"2\truns\t{first.labels[1]}", ""]
    text = tagger.tag_conll(path, column=2)
    assert text.splitlines() == [*expected, f"1\t7\t{second.labels[0]}"]
    assert tagger.tag_conll(path, column=2, ensemble=[tagger], batch_size=1) == text
    with pytest.raises(attend.Error, match="expected at least 3 columns"):
        tagger.tag_conll(path, column=3)
    with pytest.raises(FileNotFoundError):
        tagger.tag_conll("missing.conll")
    with pytest.raises(attend.Error, match="column -1"):
        tagger.tag_conll(path, column=-1)
    with pytest.raises(attend.Error, match="stride is for language models"):
        tagger.evaluate([("dog 1", "NOUN NUM")], stride=3)
    with pytest.raises(TypeError, match="unknown option"):
        tagger.tag_conll(path, colour=3)  # type: ignore[call-arg]


def test_the_contexts_of_a_language_model_overlap(lm: attend.Model) -> None:
    text = "abcabcabd\n" * 30
    model = attend.train("lm", [text], architecture="transformer", hidden_size=8, heads=2,
                         sequence_length=16, steps=2, progress=False)  # fmt: skip
    whole, overlapping = model.evaluate([text]), model.evaluate([text], stride=3)
    assert whole["tokens"] == overlapping["tokens"] and whole["loss"] != overlapping["loss"]
    with pytest.raises(attend.Error, match="expected 1 to 16, the context length"):
        model.evaluate([text], stride=17)
    with pytest.raises(attend.Error, match="an RNN carries its state"):
        lm.evaluate([text], stride=3)


def test_evaluation_takes_lists_and_files(model: attend.Model, tmp_path: pathlib.Path) -> None:
    pairs = PAIRS[:20]
    from_list = model.evaluate(pairs, metrics=["wer", "chrf"], resamples=50)
    (tmp_path / "d.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in pairs))
    from_file = model.evaluate(tmp_path / "d.tsv", metrics=["wer", "chrf"], resamples=50)
    assert from_list == from_file and from_list["lines"] == 20
    assert isinstance(from_list["chrf"], attend.metrics.Score)
    low, high = from_list["exact_match_interval"]
    assert low <= from_list["exact_match"] <= high
    (tmp_path / "d.csv").write_text("made,given\n" + "".join(f"{t},{s}\n" for s, t in pairs))
    from_csv = model.evaluate(tmp_path / "d.csv", format="csv", columns="given,made")
    assert from_csv["exact_match"] == from_list["exact_match"]
    same = model.compare(model, tmp_path / "d.csv", columns="given,made", resamples=10)
    assert same.lines == 20
    with pytest.raises(attend.Error, match="gave"):
        model.evaluate(tmp_path / "d.csv", columns="gave,made")
    with pytest.raises(FileNotFoundError):
        model.evaluate("missing.tsv")
    with pytest.raises(attend.Error):
        model.evaluate(pairs, metrics=["blue"])


def test_examples_that_raise_or_are_wrong_end_the_call(model: attend.Model) -> None:
    def broken() -> Any:
        yield PAIRS[0]
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        model.evaluate(broken())
    with pytest.raises(LookupError, match="no more"):
        attend.train("pairs", broken(), steps=1, progress=False)
    for wrong in (3, ("a",), ("a", 3), None):
        with pytest.raises(TypeError, match="example: expected"):
            model.evaluate([wrong])


def test_training_reports_events_and_callbacks_can_end_it() -> None:
    events: list[dict[str, Any]] = []

    def stop(event: dict[str, Any]) -> Any:
        events.append(event)
        return event["step"] < 3

    model = attend.train("pairs", PAIRS, hidden_size=8, steps=50, callback=stop, progress=False)
    assert events[-1]["step"] == 3 and model.type == "seq2seq"

    def fail(event: dict[str, Any]) -> None:
        raise ArithmeticError("in the callback")

    with pytest.raises(ArithmeticError, match="in the callback"):
        attend.train("pairs", PAIRS, hidden_size=8, steps=50, callback=fail, progress=False)


def test_slices_end_in_the_bits_of_one_run(tmp_path: pathlib.Path) -> None:
    settings: dict[str, Any] = {"hidden_size": 8, "steps": 6}
    sliced = attend.Training("pairs", PAIRS, **settings)
    while not sliced.finished:
        sliced.advance(2)
    assert sliced.steps == 6 and sliced.validations
    whole = attend.train("pairs", iter(PAIRS), progress=False, **settings)
    saved = attend.train("pairs", PAIRS, progress=False, out=tmp_path / "m.safetensors", **settings)
    loaded = attend.Model.load(tmp_path / "m.safetensors")
    for other in (whole, saved, loaded):
        for name, values in sliced.model().parameters.items():
            np.testing.assert_array_equal(values, other.parameters[name])


def test_unknown_settings_name_the_nearest() -> None:
    with pytest.raises(attend.Error, match="hidden-size"):
        attend.train("pairs", PAIRS, hiden_size=8)  # type: ignore[call-arg]
    with pytest.raises(attend.Error, match="task|reverse"):
        attend.train("pears", PAIRS)
    with pytest.raises(FileNotFoundError):
        attend.train("pairs", "missing.tsv")
    assert attend.settings("reverse")["alphabet"].help


def test_progress_is_written_to_standard_error(capfd: Any, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # as if it were not installed
    attend.train("pairs", PAIRS, hidden_size=8, steps=2)
    out, err = capfd.readouterr()
    assert out == "" and "step 2 of 2: loss" in err


def test_progress_is_a_bar_of_tqdm_where_it_is_installed(capfd: Any, monkeypatch: Any) -> None:
    seen: list[Any] = []

    class Bar:
        def __init__(self, **options: Any) -> None:
            seen.append(options)

        def update(self, steps: int) -> None:
            seen.append(steps)

        def set_postfix_str(self, text: str) -> None:
            seen.append(text)

        def close(self) -> None:
            seen.append("closed")

    module = types.ModuleType("tqdm.auto")
    module.tqdm = Bar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    attend.train("pairs", PAIRS, hidden_size=8, steps=3)
    assert capfd.readouterr() == ("", "")
    assert seen[0] == {"total": 3, "unit": "step"} and seen[-1] == "closed"
    assert sum(item for item in seen if isinstance(item, int)) == 3
    assert any(str(item).startswith("loss ") for item in seen)


def test_every_task_takes_an_iterator() -> None:
    small: Any = {"hidden_size": 8, "steps": 2, "progress": False}
    labelled = [(f"{word} {n}", word) for n in range(20) for word in ("good", "bad")]
    texts = [f"line {n} of a text\n" for n in range(60)]
    tagged = [(f"dog {n} runs", "NOUN NUM VERB") for n in range(60)]
    tasks: list[tuple[str, list[Any]]] = [
        ("pairs", PAIRS), ("lm", texts), ("classify", labelled), ("tag", tagged)]  # fmt: skip
    for task, data in tasks:
        whole = attend.train(task, data, **small)
        once = attend.train(task, (example for example in data), **small)
        for name, values in whole.parameters.items():
            np.testing.assert_array_equal(values, once.parameters[name])


def test_captions_come_from_arrays() -> None:
    images, captions = attend.datasets.shapes(train_count=20, image_size=24)
    model = attend.train("caption", list(enumerate(captions)), features=images, hidden_size=8,
                         steps=2, valid_fraction=0.2, progress=False)
    outputs = model.caption(images[:3], max_output_length=5)
    assert len(outputs) == 3 and all(output.target_tokens for output in outputs)


def test_a_session_follows_the_search(model: attend.Model) -> None:
    session = model.session(attention=True, hidden_states=True)
    session.start(["abcd"])
    assert session.source_tokens() == ["a", "b", "c", "d"]
    tokens: list[int] = []
    token, total = session.start_token, 0.0
    step = session.step([token])
    while token != session.end_token and len(tokens) < 30:
        if tokens:
            step = session.step([token])
        row = step.log_probs[0].numpy()
        token = int(row.argmax())
        total += float(row[token])
        tokens.append(token)
    assert step.attention is not None and step.attention.shape[-1] == 4
    assert step.hidden is not None and step.hidden.shape[0] == 1
    greedy = model.generate("abcd")
    both = min(len(tokens), len(greedy.target_tokens))
    assert [session.token(t) for t in tokens[:both]] == greedy.target_tokens[:both]
    if not greedy.truncated:
        assert total == pytest.approx(greedy.score, rel=1e-5)
    session.start(["ab", "cd"])
    forked = session.step([session.start_token] * 3, order=[0, 1, 1])
    assert forked.log_probs.shape[0] == 3
    np.testing.assert_array_equal(forked.log_probs[1], forked.log_probs[2])
    refused: list[list[int]] = [[10**6], [-1], []]
    for wrong in refused:
        with pytest.raises(attend.Error):
            session.step(wrong)
    with pytest.raises(IndexError):
        session.source_tokens(9)


def test_a_session_runs_an_ensemble_ids_and_prompts(model: attend.Model, lm: attend.Model) -> None:
    alone, both = model.session(), model.session(ensemble=[model])
    for session in (alone, both):
        session.start(["abcd"])
    one, two = (s.step([s.start_token]).log_probs.numpy() for s in (alone, both))
    np.testing.assert_allclose(one, two, atol=1e-5)
    alone.start([[token.id for token in model.tokenize("abcd")]])
    np.testing.assert_array_equal(alone.step([alone.start_token]).log_probs, one)
    text = lm.session()
    text.start(2)
    ids = [token.id for token in lm.tokenize("the ")]
    fed = text.feed([[text.start_token, *ids]] * 2).log_probs.numpy()
    text.start(1)
    step = text.step([text.start_token])
    for token in ids:
        step = text.step([token])
    np.testing.assert_allclose(step.log_probs.numpy()[0], fed[1], atol=1e-5)
    with pytest.raises(attend.Error):
        model.session(ensemble=[lm])
    bad: list[Any] = [[], [[1, 2], [3]]]
    for wrong in bad:
        with pytest.raises(ValueError, match="one length"):
            text.feed(wrong)
    unfit: list[Any] = [[[10**6]], [["a"]], [[2**40]], 0, -1]
    for wrong in unfit:
        with pytest.raises((attend.Error, TypeError)):
            alone.start(wrong)


def test_one_model_serves_many_threads(model: attend.Model, thin: int) -> None:
    lines = [source for source, _ in PAIRS[:40]]
    expected = [output.text for output in model.generate(lines)]

    def work(seed: int) -> bool:
        return [output.text for output in model.generate(lines)] == expected

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(20 // thin + 2)))


def test_a_model_closed_in_another_thread_ends_its_calls_well(model: attend.Model) -> None:
    copy = attend.Model(model.to_bytes())
    lines = [source for source, _ in PAIRS] * 4
    closer = threading.Timer(0.02, copy.close)
    closer.start()
    count = 0
    with pytest.raises(ValueError, match="closed"):
        while True:
            count += len(copy.generate(lines))
    closer.join()
    assert repr(copy) == "Model(closed)"
    with attend.Model(model.to_bytes()) as again:
        again.generate("ab")
    with pytest.raises(ValueError, match="closed"):
        again.generate("ab")


def test_a_session_or_run_in_two_threads_is_refused_or_serialized() -> None:
    run = attend.Training("pairs", PAIRS, hidden_size=8, steps=30)
    refused: list[BaseException] = []

    def meddle(event: dict[str, Any]) -> None:
        try:
            run.advance(1)
        except attend.Error as error:
            refused.append(error)

    run.advance(2, meddle)
    assert refused and "one thread at a time" in str(refused[0])


def test_none_is_no_line(model: attend.Model, classifier: attend.Model) -> None:
    none: Any = [None]
    for call in (model.generate, classifier.classify, model.session().start):
        with pytest.raises(TypeError, match="expected a str"):
            call(none)
    with pytest.raises(TypeError, match="targets: expected a str"):
        model.generate(["a"], targets=none)
    with pytest.raises(TypeError, match="hypotheses: expected a str"):
        attend.metrics.bleu(none, ["a"])
    with pytest.raises(attend.Error):
        attend.metrics.bleu(["a"], [none])


def test_bad_files_are_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError):
        attend.Model.load(tmp_path / "missing")
    bad = tmp_path / "bad.safetensors"
    bad.write_bytes(b"nonsense" * 10)
    with pytest.raises(attend.Error, match="bad.safetensors"):
        attend.Model.load(bad)
    with pytest.raises(attend.Error, match="model"):
        attend.Model(b"nonsense" * 10)


def test_saving_where_nothing_can_be_written_is_an_os_error(model: attend.Model) -> None:
    with pytest.raises(OSError):
        model.save("/nowhere/at/all/model.safetensors")


def test_metrics_take_several_references() -> None:
    hypotheses, first, second = ["a b c", "d e"], ["a b x", "d e"], ["a b c", None]
    one = attend.metrics.wer(hypotheses, first)
    both = attend.metrics.wer(hypotheses, [first, second])
    assert one.value == pytest.approx(20) and both.value == 0 and both.lower_is_better
    spread = attend.metrics.bleu(["the cat sat on the mat"] * 10, ["the cat sat on a mat"] * 10,
                                 resamples=100, seed=3)
    assert spread.low <= spread.value <= spread.high and float(spread) == spread.value
    with pytest.raises(attend.Error, match="references: expected 2 lines"):
        attend.metrics.bleu(hypotheses, ["a"])
    with pytest.raises(attend.Error):
        attend.metrics.score(hypotheses, first, ["nothing"])
    with pytest.raises(TypeError):
        attend.metrics.bleu("a", ["a"])
    with pytest.raises(UnicodeEncodeError):
        attend.metrics.bleu(["\ud800"], ["a"])


def test_datasets_are_those_of_training() -> None:
    train = attend.datasets.sort(train_count=30, valid_count=10, alphabet="xyz")
    valid = attend.datasets.sort(train_count=30, valid_count=10, alphabet="xyz", valid=True)
    assert len(train) == 30 and len(valid) == 10 and not set(train) & set(valid)
    assert all("".join(sorted(source)) == target for source, target in train + valid)
    with pytest.raises(attend.Error):
        attend.datasets.copy(train_count=100, alphabet="ab", max_string_length=3)
    with pytest.raises(attend.Error):
        attend.datasets.copy(trains=3)


def test_the_program_is_a_module() -> None:
    def run(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "attend", *args], capture_output=True,
                              text=True)

    version = run("--version")
    assert version.returncode == 0 and attend.__version__ in version.stdout
    assert run("nothing").returncode == 2
