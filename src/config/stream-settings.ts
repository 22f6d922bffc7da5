import { group, headerValue, integer, setting, streamUrl } from './values.ts';

/** The group `stream`: the Streaming API v2 beside the indexer. */
export const stream = group({
  url: setting(
    streamUrl.optional(),
    'The Streaming API v2 of the same chain, `ws://` or `wss://`; without a path `/api/streaming/v2/ws` is added. Not connected to when not set.',
    { env: 'STREAM_URL' },
  ),
  apiKey: setting(headerValue.optional(), 'Sent to the stream as `X-API-Key`.', {
    env: 'STREAM_API_KEY',
    envOnly: true,
  }),
  maxAddresses: setting(
    integer(1, 100_000).prefault(1000),
    'The most addresses that are subscribed to: what a provider allows. Keys that are not polled any more give way; beyond it polled keys are answered as without a stream.',
  ),
});
