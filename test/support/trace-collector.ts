import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** A span as OTLP has it in JSON. */
export interface ExportedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 2 is SERVER, 3 is CLIENT. */
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code?: number };
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number };
}

interface Exported {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly ExportedSpan[] }[];
  }[];
}

/** A collector that takes OTLP over HTTP, as JSON. */
export interface TraceCollector extends AsyncDisposable {
  /** What `OTEL_EXPORTER_OTLP_ENDPOINT` is set to. */
  readonly url: string;
  /** The paths that were posted to. */
  readonly paths: readonly string[];
  readonly spans: readonly ExportedSpan[];
  /** Attributes of the service that the spans are of. */
  readonly resource: Readonly<Record<string, unknown>>;
  /** What the next posts are answered with; 0 for not at all. */
  status: number;
}

/** Starts one on a free port of 127.0.0.1. */
export async function startTraceCollector(): Promise<TraceCollector> {
  const paths: string[] = [];
  const spans: ExportedSpan[] = [];
  let resource: readonly Attribute[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { resourceSpans } = (await json(request)) as Exported;
    paths.push(request.url ?? '');
    for (const from of resourceSpans) {
      resource = from.resource.attributes;
      if (collector.status === 200) spans.push(...from.scopeSpans.flatMap((scope) => scope.spans));
    }
    if (collector.status > 0) response.writeHead(collector.status, { 'Content-Type': 'application/json' }).end('{}');
  };
  const server = createServer((request, response) => void take(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    paths,
    spans,
    status: 200,
    get resource() {
      return attributesOf({ attributes: resource });
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return collector;
}

/** Attributes by name. */
export function attributesOf({ attributes }: { readonly attributes: readonly Attribute[] }): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
}
