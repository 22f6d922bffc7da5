import { Agent, request } from 'undici';
import { adminUrlOf } from '../config/http-settings.ts';
import { loadSettings } from '../config/load.ts';

/** Shorter than the HEALTHCHECK's own timeout of 3 s, so that this program reports why it failed. */
const LIMIT_MS = 2000;

/*
 * The image's HEALTHCHECK: exits with 0 if the proxy answers on its admin port, otherwise with 1. The port comes from
 * the proxy's own settings, in the environment or in CONFIG_FILE.
 */
try {
  // Docker starts this program directly, so it reads the environment, as `main.ts` does.
  const url = `${adminUrlOf(loadSettings(process.env).settings.http)}/healthz`;
  // Not `fetch`, which refuses some ports. Node's own dispatcher might use HTTP_PROXY (NODE_USE_ENV_PROXY=1).
  const { statusCode } = await request(url, { dispatcher: new Agent(), signal: AbortSignal.timeout(LIMIT_MS) });
  if (statusCode !== 200) throw new Error(`${url} answers ${statusCode}`);
  process.exit(0);
} catch (error) {
  console.error(error instanceof Error ? `${error.message} ${error.cause ?? ''}` : error);
  process.exit(1);
}
