import type { OpenTelemetry, OpenTelemetryOptions } from './open-telemetry.ts';

/** What spans are made and exported by; with an `endpoint` there are some. */
export type TracingOptions = Omit<OpenTelemetryOptions, 'endpoint'> & { readonly endpoint?: string | undefined };

/** Opens the export of traces, where one is set. The SDK is loaded only then: it takes some megabytes, and time at the start. */
export async function openTracing({ endpoint, ...options }: TracingOptions): Promise<OpenTelemetry | undefined> {
  if (endpoint === undefined) return undefined;
  const { OpenTelemetry } = await import('./open-telemetry.ts');
  return new OpenTelemetry({ endpoint, ...options });
}
