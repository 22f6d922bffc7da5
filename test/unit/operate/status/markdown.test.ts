import { expect, test } from 'vitest';
import { renderMarkdown } from '../../../../src/operate/status/markdown.ts';

const rendered = (markdown: string) => renderMarkdown(markdown, (target) => target);

test.each([
  ['a heading', '## Why it is `404`, again', '<h2 id="why-it-is-404-again">Why it is <code>404</code>, again</h2>'],
  ['a paragraph of two lines', 'one\ntwo', '<p>one two</p>'],
  ['paragraphs', 'one\n\ntwo', '<p>one</p>\n<p>two</p>'],
  ['HTML, which is shown as text', 'a <b onclick="x">&', '<p>a &lt;b onclick=&quot;x&quot;&gt;&amp;</p>'],
  ['code', '`<a> *b* [c](d)`', '<p><code>&lt;a&gt; *b* [c](d)</code></p>'],
  ['emphasis', '*one `*` two* and **three**', '<p><em>one <code>*</code> two</em> and <strong>three</strong></p>'],
  ['stars that emphasize nothing', '2 * 3 * 4', '<p>2 * 3 * 4</p>'],
  ['a link over two lines', '[the\n`x`](a.md#b)', '<p><a href="a.md#b">the <code>x</code></a></p>'],
  ['a link in emphasis', '*[a](b)*', '<p><em><a href="b">a</a></em></p>'],
  ['quotes in a link', '[a](b"c)', '<p><a href="b&quot;c">a</a></p>'],
  ['an image, as its text', '![The <page>](x.png)', '<p>The &lt;page&gt;</p>'],
  ['a comment, which is left out', 'a\n<!-- x -->\nb', '<p>a</p>\n<p>b</p>'],
  ['a list', '* one\n  more\n* two', '<ul><li>one more</li><li>two</li></ul>'],
  ['a list below a line', 'so:\n* one', '<p>so:</p>\n<ul><li>one</li></ul>'],
  [
    'a numbered list with a list',
    '1. one:\n   * a\n   * b\n2. two',
    '<ol><li>one:\n<ul><li>a</li><li>b</li></ul></li><li>two</li></ol>',
  ],
  ['a paragraph after a list', '1. one\n\nend', '<ol><li>one</li></ol>\n<p>end</p>'],
  [
    'a code block, as it is',
    '```sh\n# a\n\n* `b` <c>\n```\nend',
    '<pre><code># a\n\n* `b` &lt;c&gt;</code></pre>\n<p>end</p>',
  ],
  [
    'a code block in an item',
    '1. one\n\n   ```sh\n   a\n     b\n   ```',
    '<ol><li>one\n<pre><code>a\n  b</code></pre></li></ol>',
  ],
  [
    'a table',
    '| A | B |\n| --- | --: |\n| `a\\|b` | *1* |\n| | [x](y) |\nend',
    '<table><thead><tr><th scope="col">A</th><th scope="col" class="number">B</th></tr></thead>' +
      '<tbody><tr><td><code>a|b</code></td><td class="number"><em>1</em></td></tr>' +
      '<tr><td></td><td class="number"><a href="y">x</a></td></tr></tbody></table>\n<p>end</p>',
  ],
  [
    'a table in an item',
    '1. one\n\n   | A |\n   | --- |\n   | a |\n2. two',
    '<ol><li>one\n<table><thead><tr><th scope="col">A</th></tr></thead><tbody><tr><td>a</td></tr></tbody></table></li><li>two</li></ol>',
  ],
])('%s', (_, markdown, html) => {
  expect(rendered(markdown)).toBe(html);
});

test('a link without an address shows its text', () => {
  expect(renderMarkdown('see [the `source`](../src/a.ts).', () => undefined)).toBe(
    '<p>see the <code>source</code>.</p>',
  );
});
