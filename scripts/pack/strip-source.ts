import { stripTypeScriptTypes } from 'node:module'

/** A relative path to a source of ours, wherever one is written: in an import, a worker, a child process. */
const ownSource = /(['"])(\.{1,2}\/[^'"`\n]*)\.ts\1/g
/** A relative path to a file beside a source: a prompt, a script for a sandbox. */
const ownAsset = /\bnew URL\((['"])([^'"`\n]+)\1/g

export interface Stripped {
  text: string
  /** The relative paths that the text names, to be looked up. */
  names: string[]
}

/** TypeScript to the JavaScript that Node would have run: each line stays where it was, so no source map is needed. */
export function stripSource(source: string): Stripped {
  const names: string[] = []
  const text = stripTypeScriptTypes(source).replace(ownSource, (_, quote: string, path: string) => {
    names.push(`${path}.js`)
    return `${quote}${path}.js${quote}`
  })
  for (const [, , path = ''] of text.matchAll(ownAsset)) if (!URL.canParse(path)) names.push(path)
  return { text, names: [...new Set(names)] }
}
