import { connect } from 'node:http2';
import { apnsMessage } from '../../messaging/providers/apns/apns-message.ts';
import { messageTo } from '../../messaging/providers/testing/provider-deps.ts';
import { APNS } from '../../messaging/providers/testing/push-services.ts';

/** Posts a message as APNs gets it, so many times, with node:http2 alone. */
export async function bareHttp2Loop(
  { port, content }: { port: number; content: { title: string; text: string } },
  { count, concurrency }: { count: number; concurrency: number },
): Promise<void> {
  const session = connect(`https://127.0.0.1:${port}`);
  const token = 'ab'.repeat(32);
  const sent = apnsMessage(messageTo(APNS.target(''), content), token);
  const post = () =>
    new Promise<void>((resolve, reject) => {
      const stream = session.request({
        ...{ ':method': 'POST', ':path': `/3/device/${token}`, authorization: 'b'.repeat(250) },
        ...{ 'apns-topic': 'ir.shop.app', ...Object.fromEntries(sent.headers) },
      });
      stream.on('error', reject);
      stream.on('close', resolve);
      stream.resume();
      stream.end(sent.payload);
    });
  let started = 0;
  const worker = async () => {
    while (started++ < count) await post();
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  session.close();
}
