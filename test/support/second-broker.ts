import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { StackPlan } from '../../cli/stack/stack-plan.ts';
import { freePort } from './service-process.ts';

const run = promisify(execFile);

/** Another broker of the stack's Kafka, which a test can stop while the first one runs. */
export class SecondBroker {
  static readonly id = 2;
  readonly #folder: string;
  readonly #process: ChildProcess;

  private constructor(folder: string, process: ChildProcess) {
    this.#folder = folder;
    this.#process = process;
  }

  /** Undefined when Kafka is no process of this stack. */
  static async start(): Promise<SecondBroker | undefined> {
    const home = process.env['RAVAND_HOME'] ?? '';
    const libs = process.env['RAVAND_KAFKA_LIBS'] ?? '';
    const plan = JSON.parse(readFileSync(join(home, 'run', 'stack.json'), 'utf8')) as StackPlan;
    const own = plan.own.kafka;
    if (!own || libs === '' || process.env['TEST_SERVICES'] === 'containers') return undefined;
    const folder = await mkdtemp(join(tmpdir(), 'ravand-broker-'));
    const properties = join(folder, 'broker.properties');
    const port = await freePort();
    await writeFile(
      properties,
      Object.entries({
        'process.roles': 'broker',
        'node.id': SecondBroker.id,
        'controller.quorum.bootstrap.servers': `127.0.0.1:${own.controllerPort}`,
        'controller.listener.names': 'CONTROLLER',
        listeners: `PLAINTEXT://127.0.0.1:${port}`,
        'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
        'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
        'log.dirs': join(folder, 'logs'),
        'message.max.bytes': 16 * 1024 * 1024,
      })
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    );
    const java = ['-XX:TieredStopAtLevel=1', '-Xmx256m', '-cp', join(libs, '*')];
    const cluster = readFileSync(join(home, 'data', 'kafka-cluster-id'), 'utf8').trim();
    const format = ['kafka.tools.StorageTool', 'format', '-t', cluster, '-c', properties];
    await run('java', [...java, ...format], { timeout: 60_000 });
    const child = spawn('java', [...java, 'kafka.Kafka', properties], { stdio: 'ignore' });
    return new SecondBroker(folder, child);
  }

  /** It answers nothing, and its connections stay open. */
  pause(): void {
    this.#process.kill('SIGSTOP');
  }

  resume(): void {
    this.#process.kill('SIGCONT');
  }

  async remove(): Promise<void> {
    this.resume();
    if (this.#process.exitCode === null) {
      const ended = once(this.#process, 'exit');
      this.#process.kill('SIGKILL');
      await ended;
    }
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
