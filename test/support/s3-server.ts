import { spawn } from 'node:child_process';
import { pythonTools } from '../../deploy/tools/python-tools.ts';
import { endWithTest } from './end-with-test.ts';
import { freePort } from './service-process.ts';
import { eventually } from './stack.ts';

/** A process with an S3-compatible server (moto) that keeps its objects in memory. */
export interface S3Server {
  /** URL of its bucket. */
  url: string;
  stop(): void;
}

export async function startS3Server(): Promise<S3Server> {
  const port = await freePort();
  const args = ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)];
  const child = spawn('python3', args, { stdio: 'ignore', env: await pythonTools() });
  endWithTest(child);
  const url = `http://127.0.0.1:${port}/ravand-archive`;
  const headers = {
    authorization: 'AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request',
  };
  await eventually({ ms: 60_000, waitingFor: 'the S3 server' }, async () => {
    const answer = await fetch(url, { method: 'PUT', headers });
    return answer.ok ? true : undefined;
  });
  return { url, stop: () => child.kill('SIGKILL') };
}
