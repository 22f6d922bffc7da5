import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/** A static file. */
export interface PageFile {
  readonly contentType: string;
  readonly body: Buffer;
}

const CONTENT_TYPES = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

const require = createRequire(import.meta.url);

/** Reads all files of the page, by path. Throws if the installation lacks one. */
export function readPageFiles(): ReadonlyMap<string, PageFile> {
  const page = (name: string) => new URL(`./page/${name}`, import.meta.url);
  const uplot = pathToFileURL(require.resolve('uplot'));
  const file = (path: string, type: keyof typeof CONTENT_TYPES, url: URL): [string, PageFile] => [
    path,
    { contentType: CONTENT_TYPES[type], body: readFileSync(url) },
  ];
  return new Map([
    file('/', 'html', page('index.html')),
    file('/status/status.css', 'css', page('status.css')),
    file('/status/status.js', 'js', page('status.js')),
    file('/status/charts.js', 'js', page('charts.js')),
    file('/status/read-events.js', 'js', page('read-events.js')),
    file('/status/format.js', 'js', page('format.js')),
    file('/status/explain.js', 'js', page('explain.js')),
    file('/status/icon.svg', 'svg', page('icon.svg')),
    file('/uplot.js', 'js', new URL('uPlot.esm.js', uplot)),
    file('/uplot.css', 'css', new URL('uPlot.min.css', uplot)),
  ]);
}
