import type { Page } from 'playwright-core';

/**
 * What is wrong with a page for somebody who cannot see well, or uses a keyboard: texts with too little contrast, parts
 * outside of landmarks, headings that skip a level, unnamed links, controls, pictures and tables, cells without a header,
 * parts that scroll and cannot be reached by keys, equal ids. And whether it scrolls sideways.
 */
export function faultsOf(page: Page): Promise<string[]> {
  return page.evaluate(RULES) as Promise<string[]>;
}

/** Runs in the page. WCAG 2.2 AA: 4.5, or 3 for large texts. */
const RULES = `(() => {
  const faults = [];
  const all = (selector) => [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility());
  const nameOf = (it) => it.tagName + (it.id && '#' + it.id) + ' "' + it.textContent.trim().slice(0, 40) + '"';
  const find = (what, found) => found.forEach((it) => faults.push(what + ': ' + nameOf(it)));
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const groundOf = (it) => {
    for (let at = it; at; at = at.parentElement) {
      const [r, g, b, a = 1] = numbers(getComputedStyle(at).backgroundColor);
      if (a > 0) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const luminance = (color) => {
    const [r, g, b] = color.map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrastOf = (it) => {
    const [low, high] = [luminance(numbers(getComputedStyle(it).color)), luminance(groundOf(it))].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const texts = all('body *').filter((it) => [...it.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== ''));
  const isLarge = (it) => parseFloat(getComputedStyle(it).fontSize) >= 24;
  find('little contrast', texts.filter((it) => contrastOf(it) < (isLarge(it) ? 3 : 4.5)));
  find('small text', texts.filter((it) => parseFloat(getComputedStyle(it).fontSize) < 11));
  find('outside of landmarks', texts.filter((it) => it.closest('header, nav, main') === null));
  if (all('main').length !== 1) faults.push('not one main');
  if (all('h1').length !== 1) faults.push('not one h1');
  const levels = all('h1, h2, h3, h4').map((it) => Number(it.tagName[1]));
  levels.forEach((level, at) => { if (level > (levels[at - 1] ?? 0) + 1) faults.push('heading h' + level + ' after h' + levels[at - 1]); });
  const labels = (it) => (it.getAttribute('aria-label') ?? '') + [...(it.labels ?? [])].map((label) => label.textContent).join('') + (it.tagName === 'INPUT' ? '' : it.textContent);
  find('no name', all('a, button, input').filter((it) => labels(it).trim() === ''));
  find('no name', all('[role=img], nav, section[aria-label]').filter((it) => !it.getAttribute('aria-label')));
  find('no name', all('#figures ~ * table[id]').filter((it) => !document.getElementById(it.getAttribute('aria-labelledby'))));
  find('no language or title', document.documentElement.lang && document.title ? [] : [document.documentElement]);
  find('cells without a header', all('table').filter((it) => [...it.rows].some((row) => row.cells.length !== it.rows[0].cells.length) || [...it.querySelectorAll('th')].some((cell) => cell.scope !== 'col')));
  const isScroller = (it) => ['auto', 'scroll'].includes(getComputedStyle(it).overflowX) && it.scrollWidth > it.clientWidth + 1;
  find('scrolls, not by keys', all('body *').filter((it) => isScroller(it) && it.tabIndex < 0 && it.querySelector('a, button, input') === null));
  if (document.documentElement.scrollWidth > innerWidth) faults.push('scrolls sideways');
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
  ids.filter((id, at) => ids.indexOf(id) !== at).forEach((id) => faults.push('id twice: ' + id));
  return faults;
})()`;
