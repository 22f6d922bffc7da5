import type { OpenTelemetry, OpenTelemetryOptions } from './open-telemetry.ts';

/** The options of tracing. Without an `endpoint` there is no tracing. */
export type TracingOptions = Omit<OpenTelemetryOptions, 'endpoint'> & { readonly endpoint?: string | undefined };

/**
 * Opens the export of traces if an endpoint is set. The SDK is only loaded then, because it takes megabytes and start
 * time.
 */
export async function openTracing({ endpoint, ...options }: TracingOptions): Promise<OpenTelemetry | undefined> {
  if (endpoint === undefined) return undefined;
  const { OpenTelemetry } = await import('./open-telemetry.ts');
  return new OpenTelemetry({ endpoint, ...options });
}
