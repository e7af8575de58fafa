"""Pages: what they hold, that they ask nothing of the network, and that names cannot run."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from finsler import primitives
from finsler.errors import InputError
from finsler.storage.record import record
from finsler.view import Panel
from finsler.view.report import (
    Curve,
    View,
    facts,
    folded,
    line_chart,
    markdown,
    paragraph,
    scene,
    section,
    table,
    write_report,
)

EVIL = '"><script>alert(1)</script><img src=x onerror=alert(2)>.off'
RECORD = json.loads(record({"mesh": EVIL, "nested": {"alpha": 0.5, "on": True, "none": None}}))


class Tags(HTMLParser):
    """All tags with their attributes, the text inside each, and tags that are left open."""

    VOID = frozenset({"meta", "img", "br"})

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.open = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append((self.open[-1] if self.open else "", data))

    def inside(self, tag):
        return [data for where, data in self.text if where == tag]

    def named(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def ball():
    return primitives.bumpy_sphere(6)


@pytest.fixture(scope="module")
def page(ball, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    fields = {EVIL: Panel(ball, ball.vertices[:, 0]), "grey": Panel(ball)}
    blocks = [
        section(EVIL, paragraph(EVIL), table([EVIL, "x"], [[EVIL, EVIL]]), facts({EVIL: EVIL})),
        line_chart([Curve(EVIL, [0, 1], [0, 1]), Curve("b", [0], [1])], x_label=EVIL, y_label=EVIL),
        scene([View(EVIL, fields)], caption=EVIL),
        folded(EVIL, markdown(f"## {EVIL}\n\n- {EVIL}\n\n{EVIL}")),
    ]
    write_report(path, EVIL, blocks, record=RECORD, command=EVIL, subtitle=EVIL)
    return path.read_text(encoding="utf-8")


def test_names_cannot_bring_tags_or_attributes(page):
    found = Tags(page)
    assert found.open == []
    assert [a for a in found.named("script") if a] == [{"type": "application/json"}]
    assert len(found.named("script")) == 2 and found.named("img") == []
    assert not any(name.startswith("on") for _, a in found.tags for name in a)
    assert found.inside("title")[0] == EVIL and found.inside("h1") == [EVIL]
    data, program = found.inside("script")
    assert "<" not in data and "</script" not in program
    assert json.loads(data)["views"][0]["title"] == EVIL


def test_nothing_is_fetched(page):
    found = Tags(page)
    assert not {"link", "iframe", "object", "embed", "base"} & {tag for tag, _ in found.tags}
    sources = {"src", "href", "srcset", "data", "action", "xlink:href", "style"}
    assert not any(sources & set(attributes) for _, attributes in found.tags)
    assert not re.search(r"https?://|url\(|@import|\bimport\b|fetch\(|XMLHttp|WebSocket", page)


def test_policy_names_the_script_and_the_style_by_their_hashes(page):
    found = Tags(page)
    [policy] = [a["content"] for a in found.named("meta") if "http-equiv" in a]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for name, text in (
        ("script-src", found.inside("script")[1]),
        ("style-src", "".join(found.inside("style"))),
    ):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    assert "unsafe" not in policy


def test_a_page_without_surfaces_has_no_script(tmp_path):
    path = write_report(tmp_path / "a.html", "plain", [paragraph("x")], record=RECORD)
    text = path.read_text(encoding="utf-8")
    assert "<script" not in text and "script-src 'none'" in text
    assert "<pre>" not in text


def test_configuration_versions_and_command_are_told(page):
    values = dict(
        re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", page[page.index("How this was made") :])
    )
    assert (values["nested.alpha"], values["nested.on"], values["nested.none"]) == (
        *("0.5", "yes"),
        "–",
    )
    assert values["numpy"] == np.__version__ and values["cores"].isdigit()
    assert Tags(page).inside("pre") == [EVIL]


def test_same_input_same_file(tmp_path):
    files = [
        write_report(tmp_path / name, "t", [paragraph("x")], record=RECORD).read_bytes()
        for name in ("a.html", "b.html")
    ]
    assert files[0] == files[1]


def test_a_report_is_an_html_file(tmp_path):
    with pytest.raises(InputError, match=r"must end in \.html"):
        write_report(tmp_path / "a.txt", "t", [], record=RECORD)
    with pytest.raises(InputError, match="create it first"):
        write_report(tmp_path / "none" / "a.html", "t", [], record=RECORD)


def test_markdown_tables_lists_and_code():
    text = (
        "# title\n\n## part\n| a | b |\n|---|---:|\n| x \\| y | `1` ± 2 |\n\none\ntwo\n\n- p\n- q"
    )
    found = Tags(markdown(text))
    assert found.named("h1") == [] and found.inside("h2") == ["part"]
    assert found.inside("th") == ["a", "b", "x | y"] and found.inside("td") == [" ± 2"]
    assert found.inside("code") == ["1"] and found.inside("li") == ["p", "q"]
    assert found.inside("p") == ["one two"]


def _points(text, tag):
    [points] = [a["points"] for a in Tags(text).named(tag) if "points" in a]
    return np.array([[float(c) for c in pair.split(",")] for pair in points.split()])


def test_curves_are_drawn_to_scale():
    # The field of the curves is 66..626 × 288..12, and y grows upwards.
    chart = line_chart(
        [Curve("a", [0, 1, 2], [0, 25, 100])], x_label="x", y_label="y", y_range=(0.0, 100.0)
    )
    np.testing.assert_allclose(_points(chart, "polyline"), [[66, 288], [346, 219], [626, 12]])
    assert "<figcaption>" not in chart


def test_a_band_goes_there_on_top_and_back_below():
    curve = Curve("a", [0, 1], [50, 50], [40, 30], [60, 100])
    chart = line_chart([curve], x_label="x", y_label="y", y_range=(0.0, 100.0))
    expected = [[66, 122.4], [626, 12], [626, 205.2], [66, 177.6]]
    np.testing.assert_allclose(_points(chart, "polygon"), expected)


def test_points_that_are_not_finite_are_left_out():
    curve = Curve("a", [0, 1, 2, 3], [1, np.nan, 3, np.inf])
    assert curve.x.tolist() == [0, 2] and curve.y.tolist() == [1, 3]
    with pytest.raises(InputError, match="no curve to draw"):
        line_chart([Curve("a", [0.0], [np.nan])], x_label="x", y_label="y")
    with pytest.raises(InputError, match="'a' has arrays of shapes"):
        Curve("a", [0, 1], [0])


def test_curves_differ_in_colour_and_dash():
    curves = [Curve(str(i), [0, 1], [i, i]) for i in range(7)]
    drawn = Tags(line_chart(curves, x_label="x", y_label="y"))
    styles = {a["class"] for a in drawn.named("polyline")}
    assert len(styles) == 7
