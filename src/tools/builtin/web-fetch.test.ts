import { afterEach, describe, expect, it } from 'vitest'
import { type Answer, type LocalSite, openLocalSite } from '../../../test/support/local-site.ts'
import { makePdf, makePdfBomb } from '../../../test/support/made-pdf.ts'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { toolContext } from '../../../test/support/tool-context.ts'
import { systemClock } from '../../base/clock.ts'
import { createRunChild } from '../../base/processes.ts'
import { createGuardedFetch } from '../../security/network/guarded-fetch.ts'
import { createReadPage } from '../documents/read-page.ts'
import type { ToolOutcome } from '../tool.ts'
import { createFetches } from './fetches.ts'
import { createWebFetch } from './outside-tools.ts'

const clock = systemClock()
let site: LocalSite | undefined
const fetches = createFetches((allowedHosts) => createGuardedFetch({ allowedHosts }))
afterEach(async () => {
  await site?.close()
  site = undefined
})

async function serve(answer: Answer) {
  const opened = await openLocalSite(answer)
  site = opened
  const tool = createWebFetch({
    fetches,
    allowedHosts: () => [{ host: '127.0.0.1', port: opened.port }],
    readPage: createReadPage({ runChild: createRunChild({ clock }) }),
    clock,
  })
  const fetchPage = (path = '/', offset = 0): Promise<ToolOutcome> =>
    tool.run({ url: `${opened.origin}${path}`, offset }, toolContext())
  return { fetchPage, origin: opened.origin, tool }
}

function body(contentType: string, content: string | Uint8Array): Answer {
  return (_request, response) => response.setHeader('content-type', contentType).end(content)
}

describe('web_fetch', () => {
  it('SEC-6 reads a page as Markdown, labeled untrusted, and private if from the owner’s network', async () => {
    const { fetchPage, origin } = await serve(
      body(
        'text/html; charset=windows-1252',
        Buffer.from('<title>Caf\u00e9</title><h1>Caf\u00e9</h1><a href="/menu">Menu</a>', 'latin1'),
      ),
    )
    expect(await fetchPage()).toEqual({
      text: `# Café\n${origin}/\n\n# Café\n\n[Menu](${origin}/menu)`,
      isError: false,
      label: 'untrusted',
      isPrivate: true,
    })
  })

  it('SEC-10 removes control, bidirectional and invisible characters', async () => {
    const { fetchPage } = await serve(body('text/plain', 'a\u001b[31mb\u202ec\u{e0041}d\u0007e\n f'))
    expect((await fetchPage()).text).toMatch(/\n\nabcde\n f$/)
  })

  it('reads PDF and JSON', async () => {
    const { fetchPage } = await serve(({ url }, response) =>
      url === '/pdf'
        ? response.end(makePdf(['Hello (world)\nsecond line', 'Page two']))
        : response.setHeader('content-type', 'application/ld+json').end('{"a": [1, 2]}'),
    )
    expect((await fetchPage('/pdf')).text).toContain(
      '[page 1 of 2]\nHello (world)\nsecond line\n\n[page 2 of 2]\nPage two',
    )
    expect((await fetchPage('/json')).text).toContain('{"a": [1, 2]}')
  })

  it('reports the final address, and what it cannot read', async () => {
    const { fetchPage, origin } = await serve(({ url }, response) => {
      if (url === '/old') response.writeHead(301, { location: '/new' }).end()
      else if (url === '/new') response.setHeader('content-type', 'text/plain').end('moved')
      else if (url === '/image') response.setHeader('content-type', 'image/png').end('\u0089PNG')
      else if (url === '/empty') response.setHeader('content-type', 'text/html').end('')
      else response.writeHead(url === '/broken' ? 503 : 404).end('FOREIGN WORDS')
    })
    expect((await fetchPage('/old')).text).toBe(`${origin}/new\n\nmoved`)
    expect((await fetchPage('/empty')).text).toContain('no text in it')
    expect(await fetchPage('/image')).toMatchObject({
      isError: true,
      text: expect.stringContaining(
        'is image/png (5 bytes). Only web pages, text, JSON, PDF and Office files can be read.',
      ),
    })
    expect(await fetchPage('/none')).toEqual({ isError: true, text: `${origin}/none answered 404.` })
    expect(await fetchPage('/broken')).toEqual({
      isError: true,
      serviceFailed: true,
      text: `${origin}/broken answered 503.`,
    })
  })

  it('pages through a long text with one request', async () => {
    const long = Array.from({ length: 3_000 }, (_, index) => `word${index}`).join(' ')
    const { fetchPage } = await serve(body('text/plain', long))
    let all = ''
    let offset = 0
    for (let more = true; more; ) {
      const { text } = await fetchPage('/', offset)
      const note = /\n\[(\d+) more characters: offset (\d+)\]$/.exec(text)
      all += note ? text.slice(0, -note[0].length) : text
      more = note !== null
      offset = Number(note?.[2])
    }
    expect(all.endsWith(long)).toBe(true)
    expect(site?.requests).toHaveLength(1)
    expect(await fetchPage('/', 10_000_000)).toMatchObject({ isError: true })
  })

  it('SEC-8 does not reach private addresses, and sends no request', async () => {
    const inner = await openLocalSite(body('text/plain', 'secret'))
    const { fetchPage, tool } = await serve((_request, response) =>
      response.writeHead(302, { location: `http://localhost:${inner.port}/` }).end(),
    )
    const outcome = await tool.run({ url: `http://127.0.0.1:${inner.port}/` }, toolContext())
    expect(outcome).toMatchObject({ isError: true, text: expect.stringContaining('not a public address') })
    expect(await fetchPage('/redirects')).toMatchObject({ isError: true })
    expect(inner.connections()).toBe(0)
    await inner.close()
  })

  it('SEC-6 reports the destination origin to policy', async () => {
    const { tool } = await serve(body('text/plain', ''))
    expect(tool.reach({ url: 'https://Example.com:443/a?b#c' })).toEqual({
      kind: 'reach',
      destination: 'https://example.com',
      reads: 'https://Example.com:443/a?b#c',
    })
    expect(tool.reach({ url: 'file:///etc/passwd' })).toEqual({ kind: 'read', destination: null })
    expect(await tool.run({ url: 'file:///etc/passwd' }, toolContext())).toMatchObject({
      isError: true,
      text: 'Bad arguments for web_fetch. url: must be an http or https address',
    })
  })

  it('SEC-18 survives a document that exhausts memory', async () => {
    // Its clock stands still: only the memory limit can end it.
    const readPage = createReadPage({ runChild: createRunChild({ clock: createManualClock() }) })
    const document = { kind: 'pdf', contentType: '', address: 'https://example.com/', bytes: makePdfBomb(4) } as const
    expect(await readPage(document, new AbortController().signal)).toEqual({
      ok: false,
      message: 'it is too large or too damaged to read',
    })
  }, 120_000)

  it('SEC-18 aborts reading a document that takes too long', async () => {
    const manual = createManualClock()
    const readPage = createReadPage({ runChild: createRunChild({ clock: manual }) })
    // Nested so deeply that the parser needs minutes.
    const bytes = Buffer.from('<div>'.repeat(400_000))
    const reading = readPage(
      { kind: 'html', contentType: '', address: 'https://example.com/', bytes },
      new AbortController().signal,
    )
    await manual.advance(20_000)
    expect(await reading).toEqual({ ok: false, message: 'reading it took too long', timedOut: true })
  })

  it('ends the reading process when the turn is stopped', async () => {
    const stopping = new AbortController()
    const { tool, origin } = await serve(body('text/html', '<div>'.repeat(400_000)))
    const fetching = tool.run({ url: origin }, toolContext({ signal: stopping.signal }))
    setTimeout(() => stopping.abort(new Error('stopped')), 300)
    await expect(fetching).rejects.toThrow('stopped')
  })
})
