/** A request with a second request hidden inside, which a server with a different parser would find. */
export interface Form {
  readonly name: string;
  /** `start`: method and target; `hidden`: a complete request. */
  readonly write: (start: string, hidden: string) => string;
  /** True if it may be answered; otherwise it must be refused. */
  readonly isSound?: true;
}

const host = 'Host: x\r\n';
const hex = (text: string) => text.length.toString(16);
const chunks = (text: string) => `${hex(text)}\r\n${text}\r\n0\r\n\r\n`;

/** A chunked body, under these headers. */
const inChunks = (name: string, headers: string): Form => ({
  name,
  write: (start, hidden) => `${start} HTTP/1.1\r\n${host}${headers}\r\n\r\n0\r\n\r\n${hidden}`,
});

/** The same in HTTP/1.0, on a connection that is to be kept alive. */
const inChunksOfOld = (name: string, headers: string): Form => ({
  name,
  write: (start, hidden) =>
    `${start} HTTP/1.0\r\n${host}Connection: keep-alive\r\n${headers}\r\n\r\n0\r\n\r\n${hidden}`,
});

/** A body of that length, under these headers. */
const withLength = (name: string, headers: (length: number) => string): Form => ({
  name,
  write: (start, hidden) => `${start} HTTP/1.1\r\n${host}${headers(hidden.length)}\r\n\r\n${hidden}`,
});

/** Chunks in this spelling. */
const inChunksOf = (name: string, body: (hidden: string) => string): Form => ({
  name: `chunk: ${name}`,
  write: (start, hidden) => `${start} HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n${body(hidden)}`,
});

const withHead = (name: string, head: (start: string) => string): Form => ({
  name,
  write: (start, hidden) => head(start) + hidden,
});

const sound = (form: Form): Form => ({ ...form, isSound: true });

/** A second head of the same request, whose body contains the hidden request. */
const withBody = (name: string, change: (start: string) => string, headers = ''): Form =>
  sound({
    name,
    write: (start, hidden) =>
      `${change(start)} HTTP/1.1\r\n${host}${headers}Content-Length: ${hidden.length}\r\n\r\n${hidden}`,
  });

/** Forms that servers are known to read differently. */
export const FORMS: readonly Form[] = [
  inChunks('CL and TE', 'Content-Length: 6\r\nTransfer-Encoding: chunked'),
  inChunks('TE and CL', 'Transfer-Encoding: chunked\r\nContent-Length: 6'),
  inChunks('CL 0 and TE', 'Content-Length: 0\r\nTransfer-Encoding: chunked'),
  ...[
    [
      'xchunked',
      'identity',
      'chunked, identity',
      'identity, chunked',
      'gzip, chunked',
      'chunked, chunked',
      '"chunked"',
    ],
    [
      'chunked;q=1',
      'cow',
      ',chunked',
      'chunked,',
      'chunked\u0000',
      '\u000bchunked',
      'chunked\u000c',
      'chunked\u00a0',
      '',
    ],
  ]
    .flat()
    .map((value) => inChunks(`TE ${JSON.stringify(value)}`, `Transfer-Encoding: ${value}`)),
  inChunks('two TE', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity'),
  inChunks('two TE that end in chunked', 'Transfer-Encoding: cow\r\nTransfer-Encoding: chunked'),
  inChunks('TE with a space before the colon', 'Transfer-Encoding : chunked'),
  inChunks('TE with a tab before the colon', 'Transfer-Encoding\t: chunked'),
  inChunks('TE after a space', 'X: y\r\n Transfer-Encoding: chunked'),
  inChunks('TE in a folded line', 'Transfer-Encoding:\r\n chunked'),
  inChunks('TE after a bare LF', 'X: y\nTransfer-Encoding: chunked'),
  inChunks('TE after a bare CR', 'X: y\rTransfer-Encoding: chunked'),
  inChunks('TE after a NUL', '\u0000Transfer-Encoding: chunked'),
  inChunks('TE and a wrong CL', 'Transfer-Encoding: chunked\r\nContent-Length: 3'),
  inChunksOfOld('TE alone in HTTP/1.0', 'Transfer-Encoding: chunked'),
  inChunksOfOld('TE and CL in HTTP/1.0', 'Transfer-Encoding: chunked\r\nContent-Length: 3'),
  sound(inChunks('TE with spaces around', 'Transfer-Encoding: \t chunked \t ')),
  withLength('two CL', (length) => `Content-Length: 0\r\nContent-Length: ${length}`),
  withLength('two equal CL', (length) => `Content-Length: ${length}\r\nContent-Length: ${length}`),
  withLength('CL list', (length) => `Content-Length: 0, ${length}`),
  withLength('CL list of equals', (length) => `Content-Length: ${length}, ${length}`),
  withLength('CL with a plus', (length) => `Content-Length: +${length}`),
  withLength('CL negative', (length) => `Content-Length: -${length}`),
  withLength('CL hexadecimal', (length) => `Content-Length: 0x${length.toString(16)}`),
  withLength('CL with a fraction', (length) => `Content-Length: ${length}.0`),
  withLength('CL with an exponent', (length) => `Content-Length: ${length}e0`),
  withLength('CL beyond 64 bits', (length) => `Content-Length: ${2n ** 64n + BigInt(length)}`),
  withLength('CL empty', () => 'Content-Length:'),
  withLength('CL with a space inside', (length) => `Content-Length: 0 ${length}`),
  withLength('CL with a space before the colon', (length) => `Content-Length : ${length}`),
  withLength('CL in a folded line', (length) => `Content-Length:\r\n ${length}`),
  withLength('CL after a bare LF', (length) => `X: y\nContent-Length: ${length}`),
  withLength('CL with a NUL', (length) => `Content-Length: ${length}\u0000`),
  withLength('a header without a name', (length) => `: y\r\nContent-Length: ${length}`),
  withLength('a header without a colon', (length) => `junk\r\nContent-Length: ${length}`),
  withLength('a name with a space', (length) => `Content Length: 0\r\nContent-Length: ${length}`),
  sound(withLength('CL with zeros', (length) => `Content-Length: 000${length}`)),
  sound(withLength('CL alone', (length) => `Content-Length: ${length}`)),
  withLength('two Hosts', (length) => `Host: y\r\nContent-Length: ${length}`),
  withLength('two equal Hosts', (length) => `host: x\r\nContent-Length: ${length}`),
  inChunksOf('size with 0x', (body: string) => `0x${hex(body)}\r\n${body}\r\n0\r\n\r\n`),
  inChunksOf('size with a sign', (body: string) => `+${hex(body)}\r\n${body}\r\n0\r\n\r\n`),
  inChunksOf('size that is negative', (body: string) => `-1\r\n${body}\r\n0\r\n\r\n`),
  inChunksOf('size that is empty', (body: string) => `\r\n${body}\r\n0\r\n\r\n`),
  inChunksOf('size beyond 64 bits', (body: string) => `1${'0'.repeat(16)}${hex(body)}\r\n${body}\r\n0\r\n\r\n`),
  inChunksOf('size with a space after it', (body: string) => `${hex(body)} \r\n${body}\r\n0\r\n\r\n`),
  inChunksOf('size that ends in a bare LF', (body: string) => `${hex(body)}\n${body}\r\n0\r\n\r\n`),
  inChunksOf('data that is too long', (body: string) => `1\r\n${body}\r\n0\r\n\r\n`),
  inChunksOf('data without its line end', (body: string) => `${hex(body)}\r\n${body}0\r\n\r\n`),
  inChunksOf('extension with a bare LF', (body: string) => `0;a\n${body}\r\n\r\n`),
  inChunksOf('extension of 100 KB', (body: string) => `${hex(body)};${'a'.repeat(100_000)}\r\n${body}\r\n0\r\n\r\n`),
  sound(inChunksOf('extension', (body: string) => `${hex(body)};a=b\r\n${body}\r\n0;c="d"\r\n\r\n`)),
  sound(inChunksOf('size with zeros', (body: string) => `000${hex(body)}\r\n${body}\r\n000\r\n\r\n`)),
  sound(
    inChunksOf('trailer', (body: string) => `${hex(body)}\r\n${body}\r\n0\r\nContent-Length: 7\r\nHost: y\r\n\r\n`),
  ),
  sound(inChunksOf('one', chunks)),
  withHead('bare LF', (start) => `${start} HTTP/1.1\nHost: x\n\n`),
  withHead('bare CR', (start) => `${start} HTTP/1.1\rHost: x\r\r`),
  withHead('LF in a value', (start) => `${start} HTTP/1.1\r\nHost: x\r\nX: a\nb\r\n\r\n`),
  withHead('NUL in a value', (start) => `${start} HTTP/1.1\r\nHost: x\r\nX: a\u0000b\r\n\r\n`),
  withHead('NUL in the target', (start) => `${start}\u0000 HTTP/1.1\r\nHost: x\r\n\r\n`),
  withHead('tabs in the request line', (start) => `${start.replace(' ', '\t')}\tHTTP/1.1\r\nHost: x\r\n\r\n`),
  withHead('three words in the target', (start) => `${start} x y HTTP/1.1\r\nHost: x\r\n\r\n`),
  withHead('a space before the method', (start) => ` ${start} HTTP/1.1\r\nHost: x\r\n\r\n`),
  withHead('no Host', (start) => `${start} HTTP/1.1\r\nConnection: close\r\n\r\n`),
  withHead('HTTP/0.9', (start) => `${start}\r\n\r\n`),
  withHead('HTTP/0.9 by its own version', (start) => `${start} HTTP/0.9\r\nHost: x\r\n\r\n`),
  withHead('HTTP/2.0', (start) => `${start} HTTP/2.0\r\nHost: x\r\n\r\n`),
  withHead('HTTP/1.11', (start) => `${start} HTTP/1.11\r\nHost: x\r\n\r\n`),
  withHead('http/1.1', (start) => `${start} http/1.1\r\nHost: x\r\n\r\n`),
  withHead(
    'the preface of HTTP/2',
    () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u0000\u0000\u0000\u0004\u0000\u0000\u0000\u0000\u0000',
  ),
  withHead('a TLS greeting', () => '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003'),
  withHead('a head of 1 MB', (start) => `${start} HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(1_000_000)}\r\n\r\n`),
  withHead('20 000 headers', (start) => `${start} HTTP/1.1\r\nHost: x\r\n${'X: y\r\n'.repeat(20_000)}\r\n`),
  withHead('a target of 100 KB', (start) => `${start}&x=${'x'.repeat(100_000)} HTTP/1.1\r\nHost: x\r\n\r\n`),
  withHead('CONNECT', () => `CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n`),
  withHead('an invalid method', (start) => `${start.replace(/^\w+/, 'G\u00cbT')} HTTP/1.1\r\nHost: x\r\n\r\n`),
  withBody('absolute form', (start) => start.replace(' /', ' http://other/')),
  withBody('absolute form with a user', (start) => start.replace(' /', ' http://a:b@other:1/')),
  withBody('an upgrade that is not offered', (start) => start, 'Connection: Upgrade\r\nUpgrade: h2c\r\n'),
  withBody('Host of two words', (start) => start, 'X-Forwarded-Host: a b\r\nX-Original-URL: /admin\r\n'),
];
