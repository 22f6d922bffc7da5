import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { arrivedAt, startPassThrough } from '../e2e/pass-through-world.ts';
import { newestBlock } from '../e2e/questions.ts';
import { INFO, MESSAGE } from '../e2e/raw-requests.ts';
import { debianProgram } from '../support/apt.ts';

/** Sends each request (a method and a URL) twice, with one client of Java's library and its defaults. */
const PROGRAM = `
import java.net.URI;
import java.net.http.*;

public class Ask {
  public static void main(String[] requests) throws Exception {
    HttpClient client = HttpClient.newHttpClient();
    for (String given : requests) {
      String[] parts = given.split(" ");
      HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(parts[1]));
      if (parts[0].equals("POST")) request.POST(HttpRequest.BodyPublishers.ofString("{}"));
      for (int time = 0; time < 2; time++) {
        HttpResponse<String> answer = client.send(request.build(), HttpResponse.BodyHandlers.ofString());
        System.out.println(parts[0] + " " + answer.statusCode() + " " + answer.version());
      }
    }
  }
}
`;

it("Java's HTTP client, which offers h2c with its requests, is answered on every path", async () => {
  const java = await debianProgram('java', 'default-jdk-headless');
  await debianProgram('javac', 'default-jdk-headless');
  const folder = await mkdtemp(join(tmpdir(), 'toncache-java-'));
  try {
    await using world = await startPassThrough();
    await writeFile(join(folder, 'Ask.java'), PROGRAM);
    const asked = [`GET ${INFO}`, `POST ${MESSAGE}`, `GET ${newestBlock(world)}`];
    const requests = asked.map((each) => each.replace(' ', ` ${world.proxy.url}`));
    const { stdout } = await promisify(execFile)(java, [join(folder, 'Ask.java'), ...requests]);
    const [get, post] = ['GET 200 HTTP_1_1', 'POST 200 HTTP_1_1'];
    expect(stdout.trim().split('\n')).toEqual([get, get, post, post, get, get]);
    expect(arrivedAt(world).filter(({ headers }) => 'upgrade' in headers || 'http2-settings' in headers)).toEqual([]);
    expect(arrivedAt(world).filter(({ body }) => String(body) === '{}')).toHaveLength(2);
  } finally {
    await rm(folder, { recursive: true });
  }
  // Java may have to be installed first.
}, 600_000);
