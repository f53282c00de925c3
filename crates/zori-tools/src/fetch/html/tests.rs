//! Pages and what is read of them.

use zori_core::cancel::Cancel;

fn text(html: &str) -> String {
    super::text(html, &Cancel::new()).expect("nobody cancels")
}

#[test]
fn pages() {
    for (html, expected) in [
        ("", ""),
        ("  \n ", ""),
        (
            "<p>One <b>two</b> <a href=\"/x?a=1&amp;b=2\">three</a></p>four",
            "One **two** [three](/x?a=1&b=2)\n\nfour\n",
        ),
        ("<h1>Head</h1><h3>Sub<br>line</h3>x", "# Head\n\n### Sub\nline\n\nx\n"),
        ("<head><title>T</title><style>p{}</style></head>a<script>b()</script>c", "ac\n"),
        // Blanks: one between words, none at the ends of lines, none between marks and words.
        ("<p> a  <b> b </b> c </p>\n<p>d", "a **b** c\n\nd\n"),
        ("a&nbsp;b &lt;i&gt;", "a\u{a0}b <i>\n"),
        ("<b></b><i> </i><a href=x></a>a", "a\n"),
        ("<b>a<strong>b</strong>c</b> <code>d <b>e</b></code>", "**abc** `d e`\n"),
        (
            "<a href=\"#top\">a</a> <a href=\"javascript:f()\">b</a> <a>c</a> <a href=y>d<a href=z>e</a>",
            "a b c [d](y)[e](z)\n",
        ),
        ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>e", "* a\n* b\n  * c\n* d\n\ne\n"),
        ("<ol><li><p>a</p><p>b</p></li><li>c</li></ol>", "1. a\n  b\n2. c\n"),
        ("x<pre>  a\n <b>b</b>\n\n</pre>y", "x\n\n```\n  a\n b\n```\n\ny\n"),
        ("<pre>\n<code class=x>a\r\nb</code></pre>", "```\na\nb\n```\n"),
        ("<ul><li>a<pre>b\nc</pre></ul>", "* a\n  ```\n  b\n  c\n  ```\n"),
        ("a<blockquote>b<p>c</blockquote>d", "a\n\n> b\n>\n> c\n\nd\n"),
        ("<table><tr><th>a<th>b<tr><td>c</td> <td><p>d</td></table>e", "a | b\nc\n\nd\n\ne\n"),
        ("<table><tr><td>1</td><td></td><td>3</td></tr></table>", "1 | 3\n"),
        ("<img src=x alt='A &amp; B'><img src=y><img alt=' '>", "[A & B]\n"),
        ("a<svg><title>b</title><path/><svg/></svg>c<svg/>d", "acd\n"),
        ("a<hr>b", "a\n\n---\n\nb\n"),
        ("a < b && c > d", "a < b && c > d\n"),
        ("<p>cut <b>of", "cut **of\n"),
        ("<pre>cut", "```\ncut\n```\n"),
    ] {
        assert_eq!(text(html), expected, "{html}");
    }
}

/// Nesting costs nothing: neither stack nor a time or text that grows with its square.
#[test]
fn nested_pages_grow_with_their_length() {
    for (open, close) in [
        ("<div>", "</div>"),
        ("<ul><li>", "</ul>"),
        ("<blockquote>", "</blockquote>"),
        ("<b><i><a href=x>", "</i>"),
    ] {
        let page = |depth: usize| format!("{}x{}", format!("{open}y").repeat(depth), close.repeat(depth));
        let (small, large) = (text(&page(1_000)).len(), text(&page(10_000)).len());
        assert!(large < 11 * small, "{open}: {small} and {large}");
    }
}

#[test]
fn a_cancelled_call_has_no_text() {
    let cancel = Cancel::new();
    cancel.cancel();
    assert_eq!(super::text("<p>a", &cancel), None);
}
