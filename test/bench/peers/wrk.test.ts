import { describe, expect, it } from 'vitest';
import { parseWrk } from './wrk.ts';

const PRINTED = `Running 3s test @ http://127.0.0.1:42857
  1 threads and 32 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   720.11us  310.70us  11.04ms   91.33%
  133214 requests in 3.00s, 259.91MB read
Requests/sec:  44378.06

{"requests":133214,"seconds":3.001799,"bytes":272536242,"refused":0,"broken":2,"p50Ms":0.689,"p99Ms":1.902}
`;

describe('what wrk prints', () => {
  it('ends with the result of the script', () => {
    expect(parseWrk(PRINTED)).toEqual({
      requests: 133_214,
      seconds: 3.001_799,
      bytes: 272_536_242,
      refused: 0,
      broken: 2,
      p50Ms: 0.689,
      p99Ms: 1.902,
    });
  });

  it.each([
    ['no result', 'Running 3s test\nunable to connect\n'],
    ['a result without a figure', '{"requests":1,"seconds":1,"bytes":1,"refused":0,"broken":0,"p50Ms":1}'],
    ['a figure that is no number', '{"requests":1,"seconds":1,"bytes":1,"refused":0,"broken":0,"p50Ms":1,"p99Ms":"x"}'],
  ])('is no result when there is %s', (_, output) => {
    expect(() => parseWrk(output)).toThrow('wrk printed no result');
  });
});
