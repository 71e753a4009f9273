import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readRequestsFile } from './requests-file.ts'

const MAIN = join(import.meta.dirname, 'main.ts')

describe('the fake model as a program', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'fake-model-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  async function run(flags: string[]): Promise<{ url: string; stop: () => Promise<void> }> {
    const child = spawn(process.execPath, [MAIN, ...flags], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = await once(createInterface(child.stdout), 'line')
    const { url } = JSON.parse(line)
    return {
      url,
      stop: async () => {
        child.kill('SIGTERM')
        expect(await once(child, 'exit')).toEqual([0, null])
      },
    }
  }

  async function chat(url: string, content: string): Promise<unknown> {
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] })
    const headers = { authorization: 'Bearer key' }
    return (await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })).json()
  }

  test('prints its address, repeats the user and writes every request down', async () => {
    const file = join(folder, 'requests.jsonl')
    const { url, stop } = await run(['--port', '0', '--default', 'echo', '--delay-ms', '1', '--requests-file', file])
    expect(await chat(url, 'hello')).toMatchObject({ choices: [{ message: { content: 'echo: hello' } }] })
    expect(readRequestsFile(file)).toMatchObject([{ wire: 'openai-chat', body: { model: 'm' } }])
    await stop()
  })

  test('answers from a module', async () => {
    const module = join(folder, 'respond.ts')
    writeFileSync(module, 'export const respond = (request: { n: number }) => ({ text: String(request.n) })\n')
    const { url, stop } = await run(['--default', module])
    expect(await chat(url, 'hello')).toMatchObject({ choices: [{ message: { content: '1' } }] })
    await stop()
  })
})
