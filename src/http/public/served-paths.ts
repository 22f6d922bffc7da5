import { failure, type ProxyError } from '../../errors.ts';
import type { Operation, OperationsInUse } from '../../ton/operations.ts';
import { isBelow, type Target } from '../parse-request.ts';
import type { PassThrough } from '../pass-through/pass-on.ts';
import { type ClientStreaming, STREAM_PATHS } from '../streaming/streaming.ts';

/** What is served at which path. */
export interface ServedPaths {
  readonly operations: OperationsInUse;
  /** Serves the paths below {@link passedPrefixes}; without it only the operations are served. */
  readonly passThrough?: PassThrough | undefined;
  /** Serves the paths below {@link STREAM_PATHS}; absent without pass-through. */
  readonly streaming?: ClientStreaming | undefined;
  /** In lower case, each with a slash at both ends. */
  readonly passedPrefixes: readonly string[];
  /** True if requests for a path below them may be passed through; absent if all may. */
  readonly isPassed?: ((path: string) => boolean) | undefined;
  /** The names of the only paths that are passed through, if there are such; for the text of refusals. */
  readonly passedPaths?: readonly string[] | undefined;
}

/** The operation at a path, and the pass-through of its requests; `undefined` for a path without one. */
export function servedAt(
  target: Target,
  { operations, passThrough, streaming, passedPrefixes, isPassed = () => true }: ServedPaths,
): { readonly operation: Operation | undefined; readonly pass: PassThrough | undefined } {
  const operation = operations.at(target.path);
  if (isBelow(STREAM_PATHS, target)) return { operation, pass: streaming?.pass };
  const isPassable = (operation?.isFurther ?? isBelow(passedPrefixes, target)) && isPassed(target.path);
  return { operation, pass: isPassable ? passThrough : undefined };
}

const MOST_SHOWN = 100;

/** The path as the text of a refusal names it. It is in ASCII, because Node's HTTP server refuses all others. */
function shownPath({ path }: Target): string {
  const name = path.replace(/^\/api\/v3\/(?=.)/i, '');
  return name.length > MOST_SHOWN ? `${name.slice(0, MOST_SHOWN)}...` : name;
}

/** The failure at a path where nothing is served. No 404 within the API: wallets read that as "nothing there". */
export function notServedAt(
  target: Target,
  { operations, passThrough, passedPrefixes, passedPaths }: ServedPaths,
): ProxyError {
  if (!isBelow(['/api/'], target)) return failure('not-found');
  const isStream = isBelow(STREAM_PATHS, target);
  const values = {
    path: shownPath(target),
    operations: operations.names.join(', '),
    served: [...new Set([...operations.names, ...(passedPaths ?? [])])].join(', '),
    prefixes: (isStream ? STREAM_PATHS : passedPrefixes).join(', '),
  };
  if (/^\/api\/v2(?:\/|$)/i.test(target.path)) return failure('not-served', { text: 'api-v2', values });
  if (passedPaths !== undefined) return failure('not-served', { text: 'not-listed', values });
  return failure('not-served', { text: passThrough === undefined ? 'not-passed' : 'not-below', values });
}
