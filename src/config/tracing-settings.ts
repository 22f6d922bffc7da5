import { z } from 'zod';
import { about, collectorUrl, share } from './values.ts';

/** Samplers by the names that OpenTelemetry gives them. */
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** The group `tracing`: where spans are exported to, and which traces are sampled. */
export const tracing = z
  .strictObject({
    endpoint: collectorUrl
      .optional()
      .meta(
        about(
          'An OpenTelemetry collector that takes OTLP over HTTP, like `http://collector:4318`; `/v1/traces` is added. No spans are made when not set.',
          { env: 'OTEL_EXPORTER_OTLP_ENDPOINT' },
        ),
      ),
    sampler: z
      .enum(SAMPLERS, { error: `must be one of ${SAMPLERS.join(', ')}` })
      .prefault('parentbased_always_on')
      .meta(
        about(
          "Which traces are exported. With `parentbased_...` the client's `traceparent` decides, and the rest of the name applies to requests without one.",
          { env: 'OTEL_TRACES_SAMPLER' },
        ),
      ),
    sampledShare: share
      .prefault(1)
      .meta(
        about('The share of the traces that `...traceidratio` exports, 0 to 1.', { env: 'OTEL_TRACES_SAMPLER_ARG' }),
      ),
  })
  .prefault({});
