import { mkdtempSync, writeFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Daemon, type StartOptions, startDaemon } from '../../src/daemon/daemon.ts'
import type { ChatReply, MessageRequestInput } from '../../src/protocol/api.ts'
import type { TurnEvent } from '../../src/protocol/events.ts'

export interface RunningFamiliar {
  daemon: Daemon
  home: string
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>
  chat(message: string, more?: Partial<MessageRequestInput>): Promise<ChatReply>
  /** The events of one chat as they stream in. */
  stream(message: string, more?: Partial<MessageRequestInput>): AsyncGenerator<TurnEvent>
  close(options?: { keep?: boolean }): Promise<void>
}

/** A model of its own for every test would cost half a second each: those that need meaning ask for it. */
const usualEnv = { FAKE_KEY: 'a-key-for-the-fake', FAMILIAR_EMBEDDING: 'off', FAMILIAR_SANDBOX: 'off' }

/** The whole daemon in a home of its own, reached over its socket. */
export async function startFamiliar(
  options: Partial<StartOptions> & { toml?: string; providers?: Record<string, string> } = {},
): Promise<RunningFamiliar> {
  const { toml, providers = {}, ...start } = options
  const home = start.home ?? mkdtempSync(join(tmpdir(), 'familiar-'))
  if (toml !== undefined) writeFileSync(join(home, 'familiar.toml'), toml)
  await mkdir(join(home, 'providers.d'), { recursive: true, mode: 0o700 })
  for (const [name, text] of Object.entries(providers)) writeFileSync(join(home, 'providers.d', `${name}.toml`), text)
  const started = await startDaemon({ port: 0, ...start, env: { ...usualEnv, ...start.env }, home })
  if (!started.ok) throw new Error(JSON.stringify(started))
  const { daemon } = started

  function request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    return fetch(`${daemon.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${daemon.credential}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  }

  return {
    daemon,
    home,
    request,
    async chat(message, more = {}) {
      const response = await request('POST', '/api/v1/chat', { message, ...more })
      const reply = (await response.json()) as ChatReply
      if (!response.ok) throw new Error(`${response.status} ${JSON.stringify(reply)}`)
      return reply
    },
    async *stream(message, more = {}) {
      const accept = { accept: 'text/event-stream' }
      const response = await request('POST', '/api/v1/chat', { message, ...more }, accept)
      if (!response.ok || !response.body) throw new Error(`${response.status} ${await response.text()}`)
      yield* readEvents(response.body)
    },
    async close({ keep = false } = {}) {
      await daemon.close(0)
      if (!keep) await rm(home, { recursive: true, force: true })
    },
  }
}

/** The data of each event of a stream. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<TurnEvent> {
  let rest = ''
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = block.split('\n').flatMap((line) => (line.startsWith('data:') ? [line.slice(5)] : []))
      if (data.length > 0) yield JSON.parse(data.join('\n')) as TurnEvent
    }
  }
}
