import { writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type ProcessUnderTest, startProcess } from '../process-under-test.ts'

const root = join(import.meta.dirname, '../..')
const token = 'bench-token-of-at-least-two-hundred-and-fifty-six-bits-0123456789'

/** One who answers messages, in a process of its own. */
export interface Contestant {
  name: string
  start(): Promise<ProcessUnderTest>
  /** Returns how long the answer took inside of the process, where it tells. Throws where there was none. */
  chat(target: ProcessUnderTest, session: string, message: string, usersToken?: string): Promise<number | null>
}

/** A program that serves its answers as loop-server.ts does. */
export function loop(options: {
  name: string
  /** Beside this file, or a whole path. */
  file: string
  modelUrl: string
  /** The folder for its sessions. */
  folder?: string
  more?: string[]
  env?: Record<string, string>
}): Contestant {
  const { name, file, modelUrl, folder = '', more = [], env = {} } = options
  const path = file.startsWith('/') ? file : join(import.meta.dirname, file)
  return {
    name,
    start: () => startProcess({ args: [path, modelUrl, folder, ...more], env }),
    chat: (target, session, message) => post(target.url, { message, session }),
  }
}

/** The environment of Familiar's own process besides its home. */
export const familiarEnv = (home: string) => ({ FAMILIAR_HOME: home, FAMILIAR_TOKEN: token, FAKE_KEY: 'none' })

/** The daemon as its users run it. */
export function familiar(name: string, home: string, env: Record<string, string> = {}): Contestant {
  const args = [join(root, 'bin/familiar'), 'serve', '--port', '0']
  return {
    name,
    start: () => startProcess({ args, env: { ...familiarEnv(home), ...env }, healthPath: '/api/v1/status' }),
    chat: (target, session, message, usersToken = token) =>
      post(`${target.url}/api/v1/chat`, { message, session }, { authorization: `Bearer ${usersToken}` }),
  }
}

export async function prepareHome(
  home: string,
  modelUrl: string,
  { keepsConversations }: { keepsConversations: boolean },
): Promise<void> {
  await mkdir(join(home, 'providers.d'), { recursive: true, mode: 0o700 })
  const provider = [
    'type = "openai-compatible"',
    `base_url = "${modelUrl}/v1"`,
    'api_key_env = "FAKE_KEY"',
    '[models.main]',
    'model = "fake-model"',
    'cost_per_mtok = [0.003, 0.015, 0.0003, 0.00375]',
  ]
  writeFileSync(join(home, 'providers.d', 'fake.toml'), provider.join('\n'))
  const settings = [
    '[routes]\nprimary = "fake/main"',
    '[http]\nrate_limit_per_minute = 10000000',
    '[sessions]\nmax_concurrent_turns = 50',
    // Learning would ask the same model between the turns, and the embedding has a bench of its own.
    `[memory]\nextraction = false\nconversations = ${keepsConversations}`,
    '[memory.embedding]\nprovider = "off"',
  ]
  writeFileSync(join(home, 'familiar.toml'), settings.join('\n'))
}

async function post(url: string, body: object, headers: Record<string, string> = {}): Promise<number | null> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer none', ...headers },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`)
  return (JSON.parse(text) as { inProcessMs?: number }).inProcessMs ?? null
}
