import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type CommandOptions, familiar, newHome, type RunningCommand, serveFamiliar } from '../../e2e/cli-process.ts'

/** A daemon that is a process of its own, to be killed and started again on the same address. */
export interface PageDaemon {
  url: string
  signInLink(): Promise<string>
  /** As by a power cut. */
  kill(): Promise<void>
  start(): Promise<void>
}

export async function startPageDaemon(modelUrl: string): Promise<PageDaemon> {
  const home = newHome()
  mkdirSync(join(home, 'providers.d'), { recursive: true, mode: 0o700 })
  writeFileSync(join(home, 'providers.d', 'fake.toml'), fakeProvider(modelUrl), { mode: 0o600 })
  const env = { FAMILIAR_MODEL: 'fake/main', FAKE_KEY: 'key-of-the-test', FAMILIAR_PORT: String(await freePort()) }
  const options: CommandOptions = { home, env }
  let running: RunningCommand & { url: string } = await serveFamiliar(options)
  return {
    url: running.url,
    async signInLink() {
      const { stdout, stderr } = await familiar(['sign-in'], options)
      const link = /http\S+#sign-in=\S+/.exec(stdout)?.[0]
      if (!link) throw new Error(`no link: ${stdout}${stderr}`)
      return link
    },
    async kill() {
      running.child.kill('SIGKILL')
      await running.ended
    },
    async start() {
      running = await serveFamiliar(options)
    },
  }
}

export function fakeProvider(modelUrl: string, otherModel?: string): string {
  return [
    'type = "anthropic"',
    `base_url = "${modelUrl}/v1"`,
    'api_key_env = "FAKE_KEY"',
    '[models.main]',
    'model = "fake-model"',
    'max_tokens = 4096',
    'max_context_tokens = 200000',
    'cost_per_mtok = [3.0, 15.0, 0.3, 3.75]',
    'supports_vision = true',
    'thinking_tokens = 1024',
    ...(otherModel
      ? [`[models.${otherModel}]`, `model = "${otherModel}"`, 'max_tokens = 4096', 'max_context_tokens = 200000']
      : []),
  ].join('\n')
}

/** A free port, for a daemon that restarts under the same address. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
