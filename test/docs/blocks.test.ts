import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/daemon/config/load-config.ts'
import { type Block, blocksOf, readPages } from './pages.ts'
import { isCommand, makeCleanCopy, runPage } from './run-page.ts'

// Runs the blocks of README and guides as a reader would paste them: the shell blocks of a page in order, in one shell, in a
// fresh home, with `familiar` of a clean copy of this repository on the PATH and Familiar running. TOML is loaded as
// configuration, JSON is parsed, and a text block below a shell block is its output, where … stands for anything.

const pages = [...readPages()].map(([page, text]) => ({ page, blocks: blocksOf(page, text) }))
const all = pages.flatMap(({ blocks }) => blocks)
const runnable = new Set(['sh', 'text', 'toml', 'json'])

let copy: string
beforeAll(async () => {
  copy = await makeCleanCopy()
}, 120_000)
afterAll(() => {
  rmSync(dirname(copy), { recursive: true, force: true })
  const skipped = all.filter(({ skipped: why }) => why !== null)
  const list = skipped.map(({ page, line, skipped: why }) => `  ${page}:${line}: ${why}`)
  console.info(
    `${all.length - skipped.length} blocks of ${pages.length} pages ran, ${skipped.length} did not:\n${list.join('\n')}`,
  )
})

describe('blocks of README and guides', () => {
  it('every block has a language that is checked here', () => {
    const unknown = all.filter(({ language, skipped }) => !runnable.has(language) && skipped === null)
    expect(unknown.map(({ page, line, language }) => `${page}:${line}: ${language}`)).toEqual([])
  })

  it('no block offers a choice with a pipe', () => {
    const choices = all.filter(
      ({ language, text }) => language === 'sh' && /^familiar [\w -]*\w \| \w+( \||$)/m.test(text),
    )
    expect(choices.map(({ page, line }) => `${page}:${line}`)).toEqual([])
  })

  it.concurrent.each(pages.filter(({ blocks }) => blocks.some(isCommand)))(
    '$page: commands',
    { timeout: 170_000 },
    async (one) => {
      await runPage(one.page, one.blocks, copy)
    },
  )

  it.each(pages.filter(({ blocks }) => blocks.some(isConfig)))('$page: configuration', ({ blocks }) => {
    expect(configProblems(blocks)).toEqual([])
  })

  it.each(all.filter(({ language, skipped }) => language === 'json' && skipped === null))(
    '$page:$line: JSON',
    ({ text }) => {
      expect(() => JSON.parse(text)).not.toThrow()
    },
  )

  it('a command that fails, and output that differs, are reported with their place', async () => {
    const failing = blocksOf('made-up.md', '```sh\ntrue\n```\n\n```sh\ncat missing.txt\n```\n')
    await expect(runPage('made-up.md', failing, copy)).rejects.toThrow('made-up.md:5')
    const differing = blocksOf('made-up.md', '```sh\necho one two\n```\n\n```text\none … three\n```\n')
    await expect(runPage('made-up.md', differing, copy)).rejects.toThrow('made-up.md:5')
    expect(configProblems(blocksOf('made-up.md', '```toml\n[http]\nprot = 1\n```\n'))).toHaveLength(1)
  })
})

function isConfig({ language, skipped }: Block): boolean {
  return language === 'toml' && skipped === null
}

/** Loads each block for `familiar.toml` with the provider files of its page. */
function configProblems(blocks: Block[]): string[] {
  const own = blocks
    .filter(isConfig)
    .map((block) => ({ ...block, file: /^# (\S+\.toml)/.exec(block.text)?.[1] ?? 'familiar.toml' }))
  const local = 'type = "ollama"\n[models.main]\nmodel = "a"\n[models.small]\nmodel = "b"\n'
  const providers = new Map([
    ['local.toml', local],
    ...own
      .filter(({ file }) => file.startsWith('providers.d/'))
      .map(({ file, text }) => [file.slice('providers.d/'.length), text] as const),
  ])
  const settings = own.filter(({ file }) => file === 'familiar.toml')
  const secrets = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', FAMILIAR_TOKEN: '0123456789abcdef'.repeat(4) }
  return [...settings, { text: '', line: 0, page: own[0]?.page }].flatMap(({ text, line, page }) => {
    const files = {
      read: (path: string) => (path.endsWith('/familiar.toml') ? text : providers.get(path.split('/').at(-1) ?? '')),
      list: () => [...providers.keys()],
      isExposed: () => false,
    }
    const loaded = loadConfig({ home: '/home/docs/.familiar', env: secrets, files })
    return loaded.ok
      ? []
      : loaded.problems.map(({ file, key, message }) => `${page}:${line}: ${file} ${key} ${message}`)
  })
}
