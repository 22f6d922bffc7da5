import { expect, test } from 'vitest';
import { renderMarkdown } from '../../../../src/operate/status/markdown.ts';

const rendered = (markdown: string) => renderMarkdown(markdown, (target) => target).trim();

test.each([
  [
    'a heading has the anchor of its links',
    '## Why it is `404`, again',
    '<h2 id="why-it-is-404-again">Why it is <code>404</code>, again</h2>',
  ],
  [
    'HTML between paragraphs is shown as text',
    'a\n\n<script>x</script>\n\nb',
    '<p>a</p>\n&lt;script&gt;x&lt;/script&gt;<p>b</p>',
  ],
  ['HTML in a line is shown as text', 'a <b onclick="x">&', '<p>a &lt;b onclick=&quot;x&quot;&gt;&amp;</p>'],
  ['code is shown as it is', '`<a> *b* [c](d)`', '<p><code>&lt;a&gt; *b* [c](d)</code></p>'],
  ['a link has its address', '*[the\n`x`](a.md#b)*', '<p><em><a href="a.md#b">the\n<code>x</code></a></em></p>'],
  ['an image is its text', '![The <page>](x.png)', '<p>The &lt;page&gt;</p>'],
  ['a comment is left out', 'a\n\n<!-- x -->\n\nb', '<p>a</p>\n<p>b</p>'],
])('%s', (_, markdown, html) => {
  expect(rendered(markdown)).toBe(html);
});

test('a table has its rows, and numbers are aligned right', () => {
  const html = rendered('| A | B |\n| --- | --: |\n| `a\\|b` | 1 |');
  expect(html).toContain('<td><code>a|b</code></td>');
  expect(html).toContain('<td align="right">1</td>');
});

test('a link without an address shows its text', () => {
  expect(renderMarkdown('see [the `source`](../src/a.ts).', () => undefined).trim()).toBe(
    '<p>see the <code>source</code>.</p>',
  );
});
