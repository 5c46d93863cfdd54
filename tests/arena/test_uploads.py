"""Uploads: the bytes decide about the type; what is broken is refused or harmless."""

import pytest

pytest.importorskip("msgspec")
pytest.importorskip("starlette")
pytest.importorskip("httpx")

from driftduel.arena.problems import ArenaError
from driftduel.arena.uploads import MEDIA, checked_media
from tests.arena.media_files import FILES, HOSTILE, broken, png, riff
from tests.arena.served import NO_LIMIT, problem, served


@pytest.mark.parametrize(("media", "data"), FILES.items())
def test_a_file_of_each_type_is_accepted(media, data):
    assert checked_media(data, media) == media
    assert checked_media(data, f"{media.upper()}; charset=x") == media
    assert checked_media(data, "") == media
    assert checked_media(data, "application/octet-stream") == media


def test_every_accepted_type_is_tested():
    assert set(FILES) == set(MEDIA)


@pytest.mark.parametrize("declared", ["image/svg+xml", "text/html", "application/pdf", "x" * 300])
def test_other_types_are_refused(declared):
    with pytest.raises(ArenaError, match="are not accepted") as caught:
        checked_media(png(), declared)
    assert caught.value.problem == "bad-request"


def test_a_type_that_contradicts_the_bytes_is_refused():
    with pytest.raises(ArenaError, match=r"the file is image/png, but declared as image/jpeg\."):
        checked_media(png(), "image/jpeg")


@pytest.mark.parametrize("data", HOSTILE)
@pytest.mark.parametrize("declared", ["", "image/png", "image/gif", "audio/mpeg"])
def test_what_is_no_file_of_a_type_is_refused(data, declared):
    with pytest.raises(ArenaError, match="are not a complete file"):
        checked_media(data, declared)


@pytest.mark.parametrize(
    "media", ["image/png", "image/gif", "image/jpeg", "image/webp", "audio/wav"]
)
def test_a_cut_file_is_refused(media):
    for length in range(len(FILES[media]) - 1):
        with pytest.raises(ArenaError):
            checked_media(FILES[media][:length], media)


def test_a_page_behind_an_image_is_refused():
    with pytest.raises(ArenaError):
        checked_media(png() + HOSTILE[0], "image/png")


def test_sizes_are_bounded():
    with pytest.raises(ArenaError, match="may have 4,194,304 at most") as caught:
        checked_media(riff(b"WEBP", (b"VP8L", bytes(4 << 20))), "image/webp")
    assert caught.value.problem == "too-large"
    with pytest.raises(ArenaError):
        checked_media(_huge(), "image/png")


def _huge():
    """Return a PNG that declares 400 million pixels in a few bytes."""
    small = bytearray(png())
    small[16:24] = (20_000).to_bytes(4, "big") * 2
    return bytes(small)


def test_a_broken_file_is_refused_or_has_a_type_of_the_list():
    found = [media_or_problem(data) for data in broken(1000)]
    assert set(found) <= {*MEDIA, "bad-request", "too-large"}
    assert found.count("bad-request") > 500


def media_or_problem(data):
    try:
        return checked_media(data, "")
    except ArenaError as error:
        return error.problem


@pytest.fixture(scope="module")
def arena():
    with served(limits={"per_address": NO_LIMIT}) as made:
        yield made


def upload(arena, data, media, token=None):
    headers = {"Authorization": f"Bearer {token or arena.own}", "Content-Type": media}
    return arena.client.post("/v1/arenas/colours/files", content=data, headers=headers)


def download(arena, url):
    """Get a file as a browser does: without a token."""
    return arena.client.get(url, headers={"Authorization": ""})


@pytest.mark.parametrize(("media", "data"), FILES.items())
def test_a_file_comes_back_with_the_headers_that_keep_it_inert(arena, media, data):
    stored = upload(arena, data, media)
    assert stored.status_code == 201, stored.text
    assert stored.json()["file"] == f"file:{stored.json()['url'].rpartition('/')[2]}"
    answer = download(arena, stored.json()["url"])
    assert answer.content == data
    check_inert(answer)
    assert answer.headers["content-type"] == media
    assert "immutable" in answer.headers["cache-control"]


def check_inert(answer):
    assert answer.status_code == 200
    assert answer.headers["content-type"] in MEDIA
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert answer.headers["content-disposition"] == "inline"


def test_a_thousand_broken_files_are_refused_or_served_inert(arena):
    refused = 0
    for number, data in enumerate(broken(1000, seed=1)):
        media = list(MEDIA)[number % len(MEDIA)]
        answer = upload(arena, data, media)
        if answer.status_code == 201:
            check_inert(download(arena, answer.json()["url"]))
        else:
            problem(answer, 422, "bad-request")
            refused += 1
    assert refused > 500


def test_only_owners_upload_and_names_of_files_are_not_guessed(arena):
    assert upload(arena, png(), "image/png", arena.voting).status_code == 403
    assert upload(arena, png(), "image/svg+xml").status_code == 422
    name = upload(arena, png(), "image/png").json()["file"]
    assert len(name) >= len("file:") + 22  # 128 bits
    for guess in ("x", "..%2F..%2Fetc%2Fpasswd", "0" * 32, "%00", "file:x"):
        answer = download(arena, f"/v1/arenas/colours/files/{guess}")
        assert answer.status_code == 404, guess
    assert download(arena, f"/v1/arenas/other/files/{name[5:]}").status_code == 404


def test_a_file_that_is_too_large_is_refused(arena):
    large = riff(b"WEBP", (b"VP8L", bytes(4 << 20)))
    problem(upload(arena, large, "image/webp"), 413, "too-large")
    problem(upload(arena, bytes(17 << 20), "audio/mpeg"), 413, "too-large")
