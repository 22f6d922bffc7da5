import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type AdminPath, sendText } from '../../http/admin/admin-server.ts';
import { docPages } from './doc-pages.ts';
import type { StatusMoment } from './history.ts';
import { escaped } from './markdown.ts';
import { type PageClock, titleOf, toldOf } from './page/told.js';

/** The page loads nothing from other origins, sends nothing to them, and cannot be framed. */
const PAGE_HEADERS = [
  'Content-Security-Policy',
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options',
  'nosniff',
  'Referrer-Policy',
  'no-referrer',
  'Cache-Control',
  'no-cache',
];

const require = createRequire(import.meta.url);

const HTML = 'text/html; charset=utf-8';

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const PAGE = join(import.meta.dirname, 'page');

/** A browser says its zone only to a script. */
const UTC: PageClock = {
  at: (instant, now) => {
    const [[day = '', time = ''], [today]] = [instant, now].map((each) => new Date(each).toISOString().split('T')) as [
      string[],
      string[],
    ];
    return day === today ? time.slice(0, 5) : `${day.slice(5)}, ${time.slice(0, 5)}`;
  },
  zone: 'UTC',
};

/** Sends a body, as gzip if the client accepts that. */
export function sendPacked(
  request: IncomingMessage,
  response: ServerResponse,
  contentType: string,
  body: { readonly plain: string | Buffer; readonly packed: Buffer },
  headers: readonly string[],
): void {
  const isPacked = /\bgzip\b(?! *; *q=0(?:\.0*)?(?:,|$))/.test(String(request.headers['accept-encoding'] ?? ''));
  const encoding = isPacked ? ['Content-Encoding', 'gzip'] : [];
  const sent = isPacked ? body.packed : body.plain;
  sendText(response, 200, contentType, sent, [...headers, 'Vary', 'Accept-Encoding', ...encoding]);
}

/** The page at `/`, with what `toldTo` gives: `undefined` for a request that may not read it. */
export function firstPage(toldTo: (request: IncomingMessage) => Promise<StatusMoment | undefined>): AdminPath {
  const template = readFileSync(join(PAGE, 'index.html'), 'utf8');
  const serve: AdminPath['serve'] = async (request, response) => {
    const told = await toldTo(request);
    const values: Readonly<Record<string, string>> =
      told === undefined
        ? { title: 'toncache', level: '…' }
        : { class: told.level.toLowerCase(), title: escaped(titleOf(told)), ...toldOf(told, UTC) };
    const plain = template.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
    sendPacked(request, response, HTML, { plain, packed: gzipSync(plain) }, PAGE_HEADERS);
  };
  return { method: 'GET', access: 'any', serve };
}

/** All other files of the page and the documentation, by path. Throws if the installation lacks one. */
export function pageFiles(): Record<string, AdminPath> {
  const uplot = dirname(require.resolve('uplot'));
  const scripts = readdirSync(PAGE).filter((name) => extname(name) in CONTENT_TYPES);
  const docs = [...docPages()].map(([name, render]) => [`/status/docs/${name}`, renderedPage(render)] as const);
  return {
    ...Object.fromEntries(docs),
    ...Object.fromEntries(scripts.map((name) => [`/status/${name}`, file(join(PAGE, name))])),
    // Of its forms only this one is small.
    '/status/uplot.js': file(join(uplot, 'uPlot.iife.min.js'), '\nexport default uPlot;\n'),
    '/status/uplot.css': file(join(uplot, 'uPlot.min.css')),
  };
}

const renderedPage = (render: () => string): AdminPath => ({
  method: 'GET',
  access: 'any',
  serve: (_, response) => sendText(response, 200, HTML, render(), PAGE_HEADERS),
});

/** A file that is read, and packed, once. `more`: its last line. */
function file(from: string, more = ''): AdminPath {
  const plain = `${readFileSync(from, 'utf8')}${more}`;
  const body = { plain, packed: gzipSync(plain) };
  // Weak, because it is that of both encodings.
  const tag = `W/"${hash('sha256', plain, 'base64url').slice(0, 16)}"`;
  const headers = [...PAGE_HEADERS, 'ETag', tag];
  const serve: AdminPath['serve'] = (request, response) => {
    if (request.headers['if-none-match']?.includes(tag.slice(2)) !== true)
      return sendPacked(request, response, CONTENT_TYPES[extname(from)] ?? '', body, headers);
    response.writeHead(304, headers).end();
  };
  return { method: 'GET', access: 'any', serve };
}
