import { markdownTable } from '../markdown-table.ts';
import { titleOf } from './cases.ts';
import type { Measured, Sample } from './measure.ts';

/** CPU time per request of each server, and after it the ratio: its time divided by that of the first server. */
export function tableOfCpu(measured: readonly Measured[]): string {
  return tableOf('CPU µs a request', measured, (own, first) => {
    const micros = own('cpuMicrosPerRequest');
    const shown = micros < 100 ? micros.toFixed(1) : micros.toFixed(0);
    return first === undefined ? shown : `${shown} (${(micros / first('cpuMicrosPerRequest')).toFixed(2)})`;
  });
}

/** KB sent per request, heads included, for loads whose clients accept gzip; '' when there are none. */
export function tableOfBytes(measured: readonly Measured[]): string {
  const packed = measured.filter(({ compared }) => compared.gzip);
  return packed.length === 0
    ? ''
    : tableOf('KB a request', packed, (own) => (own('bytesPerRequest') / 1000).toFixed(1));
}

type MedianOf = (figure: keyof Sample) => number;

/** A row for each server in each case, a column for each size. `cell` gets `first` undefined for the first server. */
function tableOf(
  title: string,
  measured: readonly Measured[],
  cell: (own: MedianOf, first: MedianOf | undefined) => string,
): string {
  const sizesKb = [...new Set(measured.map(({ compared }) => compared.sizeKb))];
  const cases = Map.groupBy(measured, ({ compared }) => titleOf(compared));
  const rows = [...cases].flatMap(([name, same]) =>
    [...Map.groupBy(same, ({ peer }) => peer)].map(([peer, own], place) => [
      place === 0 ? name : '',
      peer,
      ...sizesKb.map((sizeKb) => {
        const ofSize = own.find(({ compared }) => compared.sizeKb === sizeKb);
        const first = same.find(({ compared }) => compared.sizeKb === sizeKb);
        if (ofSize === undefined || first === undefined) return '';
        return cell(mediansOf(ofSize), ofSize === first ? undefined : mediansOf(first));
      }),
    ]),
  );
  return markdownTable([title, 'server', ...sizesKb.map((sizeKb) => `${sizeKb} KB`)], rows);
}

function mediansOf({ samples }: Measured): MedianOf {
  return (figure) => {
    const sorted = samples.map((sample) => sample[figure]).sort((a, b) => a - b);
    const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
    return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
  };
}
