/**
 * Runs one rebuild as `./ravand rebuild` does and tells its parent what it cost. Started by
 * bench/rebuild.ts.
 */
import { run } from '../../ops/rebuild/main.ts';
import { homeOf } from '../../cli/stack/home.ts';

const args = JSON.parse(process.argv[2] ?? '[]') as string[];
const [began, before] = [performance.now(), process.cpuUsage()];
const code = await run(args, {
  home: homeOf({ checkout: '', env: process.env }),
  checkout: '',
  ready: () => undefined,
  env: process.env,
});
const { user, system } = process.cpuUsage(before);
process.send?.({
  code,
  took: performance.now() - began,
  cpu: (user + system) / 1000,
  rss: process.resourceUsage().maxRSS,
});
process.disconnect();
