# attend on Debian 12. The first stage builds and checks it, the second has the program and what it runs with.
#   docker build -t attend . && docker run --rm attend selftest
FROM debian:12 AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
    gcc libc6-dev make cmake pkg-config libzip-dev libjpeg-dev libpng-dev zlib1g-dev libzstd-dev librsvg2-dev
COPY . /attend
WORKDIR /attend
RUN make BUILD=/build PREFIX=/usr && /build/attend selftest && make install BUILD=/build PREFIX=/usr DESTDIR=/installed

FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends \
    libzip4 libjpeg62-turbo libpng16-16 zlib1g libzstd1 librsvg2-2 libcairo2 fonts-dejavu-core && rm -rf /var/lib/apt/lists/*
COPY --from=build /installed/usr /usr
WORKDIR /data
ENTRYPOINT ["attend"]
