/** An answer, parsed by RFC 9112 only. */
export interface RawAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** The answers in the bytes, and why the bytes are invalid. */
export interface RawAnswers {
  readonly answers: readonly RawAnswer[];
  /** Why the remaining bytes are not an answer; `undefined` if no bytes remain. */
  readonly problem: string | undefined;
}

const STATUS_LINE = /^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*$/;
const HEADER = /^([A-Za-z0-9-]+):[ \t]*(.*?)[ \t]*$/;

/**
 * Parses all bytes of a closed connection, in latin1. `methods`: of the requests, in order; further answers are read as
 * answers to GET.
 */
export function readAnswers(received: string, methods: readonly string[]): RawAnswers {
  const answers: RawAnswer[] = [];
  for (let at = 0; at < received.length; ) {
    const headEnd = received.indexOf('\r\n\r\n', at);
    if (headEnd < 0) return { answers, problem: `a head without an end: ${excerpt(received, at)}` };
    const [statusLine = '', ...lines] = received.slice(at, headEnd).split('\r\n');
    const status = STATUS_LINE.exec(statusLine)?.[1];
    if (status === undefined) return { answers, problem: `no status line: ${excerpt(received, at)}` };
    const headers = new Map<string, string>();
    for (const line of lines) {
      const [, name, value = ''] = HEADER.exec(line) ?? [];
      if (name === undefined) return { answers, problem: `no header: ${line}` };
      headers.set(name.toLowerCase(), value);
    }
    const bodyAt = headEnd + 4;
    const length = lengthOf(Number(status), headers, methods[answers.length]) ?? received.length - bodyAt;
    if (!(bodyAt + length <= received.length)) {
      return { answers, problem: `a body of ${length} bytes that is cut short: ${excerpt(received, at)}` };
    }
    answers.push({ status: Number(status), headers, body: received.slice(bodyAt, bodyAt + length) });
    at = bodyAt + length;
  }
  return { answers, problem: undefined };
}

/** RFC 9112 6.3; toncache sends no chunks. `undefined`: the body ends with the connection. */
function lengthOf(
  status: number,
  headers: ReadonlyMap<string, string>,
  method: string | undefined,
): number | undefined {
  if (method === 'HEAD' || status === 204 || status === 304) return 0;
  const given = headers.get('content-length');
  if (given !== undefined) return /^\d+$/.test(given) ? Number(given) : Number.NaN;
  return headers.get('connection') === 'close' ? undefined : Number.NaN;
}

function excerpt(received: string, at: number): string {
  return JSON.stringify(received.slice(at, at + 300));
}
