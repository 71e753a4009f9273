import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Vector } from './vectors/all-vectors.ts'

/** How vectors are shown, always at the origin of the server. */
export interface Exhibit {
  /** Each as a document of its own. */
  document?: (html: string) => string
  /** Each as a part of one page. */
  fragment?: (html: string) => string
  /** Each in a frame with these attributes. */
  frame?: (html: string) => Record<string, string>
  pageHeaders?: Record<string, string>
}

export const columns = 10
export const cell = { width: 180, height: 110 }

/** Serves pages of many small frames, one for each vector, and remembers every request that is none of them. */
export async function serveVectors(exhibit: Exhibit, vectors: readonly Vector[]) {
  const strayRequests: string[] = []
  const server = createServer((request, response) => {
    const [, what, id = ''] = (request.url ?? '').split('/')
    response.setHeader('content-type', 'text/html; charset=utf-8')
    if (what === 'page') {
      const [from, to] = id.split('-').map(Number)
      for (const [name, value] of Object.entries(exhibit.pageHeaders ?? {})) response.setHeader(name, value)
      return response.end(pageOf(vectors.slice(from, to), exhibit))
    }
    const vector = what === 'one' ? vectors.find((one) => one.id === Number(id)) : undefined
    if (vector && exhibit.document) return response.end(exhibit.document(vector.html))
    strayRequests.push(request.url ?? '')
    return response.end('')
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    strayRequests,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

function pageOf(vectors: readonly Vector[], exhibit: Exhibit): string {
  const exhibits = vectors.map((vector, at) => {
    const place = `left:${(at % columns) * cell.width}px;top:${Math.floor(at / columns) * cell.height}px`
    return show(vector, exhibit, `position:absolute;overflow:hidden;border:0;${place}`)
  })
  const size = `<style>.exhibit { width: ${cell.width}px; height: ${cell.height}px }</style>`
  const listener = '<script>onmessage = ({ data }) => console.log(data)</script>'
  return `<!doctype html><link rel=icon href=data:,>${size}${listener}${exhibits.join('\n')}`
}

function show({ id, html }: Vector, { fragment, frame }: Exhibit, style: string): string {
  if (fragment) return `<div class=exhibit style="${style}">${fragment(html)}</div>`
  const attributes = { name: `v${id}`, class: 'exhibit', style, ...(frame ? frame(html) : { src: `/one/${id}` }) }
  const written = Object.entries(attributes).map(([name, value]) => `${name}="${escapeValue(value)}"`)
  return `<iframe ${written.join(' ')}></iframe>`
}

function escapeValue(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
}
