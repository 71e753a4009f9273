import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

/**
 * As it goes over the wire. The first load is what `index.html` names, and English, which the entry loads; the rest comes when its
 * screen is looked at.
 */
export function weighPage(directory: string) {
  const size = (name: string) => gzipSync(readFileSync(join(directory, name)), { level: 9 }).length
  const html = readFileSync(join(directory, 'index.html'), 'utf8')
  const assets = readdirSync(join(directory, 'assets')).map((name) => `assets/${name}`)
  const first = ['index.html', ...assets.filter((name) => html.includes(name) || /^assets\/en-[\w-]+\.js$/.test(name))]
  const sizes = (names: string[]) => Object.fromEntries(names.map((name) => [name.replace('assets/', ''), size(name)]))
  return {
    firstLoadGzipBytes: first.reduce((sum, name) => sum + size(name), 0),
    first: sizes(first),
    later: sizes(assets.filter((name) => !first.includes(name))),
  }
}
