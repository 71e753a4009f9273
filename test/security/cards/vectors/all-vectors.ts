import { addressVectors } from './address-vectors.ts'
import { clobberingVectors } from './clobbering-vectors.ts'
import { handlerVectors } from './handler-vectors.ts'
import { loadingVectors } from './loading-vectors.ts'
import { namespaceVectors } from './namespace-vectors.ts'
import { scriptVectors } from './script-vectors.ts'
import { styleVectors } from './style-vectors.ts'

export interface Vector {
  id: number
  kind: string
  html: string
}

const lists: Record<string, string[]> = {
  script: scriptVectors,
  handler: handlerVectors,
  address: addressVectors,
  namespace: namespaceVectors,
  loading: loadingVectors,
  style: styleVectors,
  clobbering: clobberingVectors,
}

/** Each with a number of its own, which is what it tells, and the host that it calls, if anything of it gets through. */
export const allVectors: Vector[] = Object.entries(lists)
  .flatMap(([kind, templates]) => templates.map((template) => ({ kind, template })))
  .map(({ kind, template }, index) => ({ id: 900_000 + index, kind, html: fill(template, 900_000 + index) }))

function fill(template: string, id: number): string {
  const js = `console.log(${id})`
  const values: Record<string, string> = {
    id: String(id),
    host: `v${id}.leak.test`,
    js,
    jsEntities: [...js].map((character) => `&#${character.charCodeAt(0)};`).join(''),
    jsBase64: base64(js),
    scriptBase64: base64(`<script>${js}</script>`),
    svgBase64: base64(`<svg xmlns="http://www.w3.org/2000/svg"><script>${js}</script></svg>`),
  }
  return template.replace(/\{(\w+)\}/g, (placeholder, name: string) => values[name] ?? placeholder)
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
