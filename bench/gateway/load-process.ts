import { runLoad } from './load.ts';
import { numberedTemplates } from './bodies.ts';

/** Sends requests to one port; prints the result as JSON. */
const [port = '', template = '', connections = '', duration = '', writeKey = '', run = ''] =
  process.argv.slice(2);
const chosen = numberedTemplates(writeKey)[Number(template)];
if (!chosen) throw new Error(`there is no request ${template}`);
let serial = Number(run) * 1_000_000_000;
const result = await runLoad({
  host: '127.0.0.1',
  port: Number(port),
  connections: Number(connections),
  warmUp: 1500,
  duration: Number(duration),
  request: () => {
    const { bytes, renew } = chosen.make();
    return () => {
      renew(serial++);
      return bytes;
    };
  },
});
console.log(JSON.stringify(result));
