/*
 * Reads the code of a capability without running any of it, and prints what is wrong as JSON.
 *
 * A module is compiled and linked but never evaluated. Functions exist from then on, so that what is exported as `run` can
 * be looked at; what is assigned does not, and shows itself in the examples.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { posix } from 'node:path'
import { compileFunction, SourceTextModule, SyntheticModule } from 'node:vm'

const root = process.argv[2]
const given = JSON.parse(readFileSync(0, 'utf8'))
const problems = []
const noRun = 'main.js exports no function run: export function run(args) or export function run(args, context).'
const modules = new Map()

for (const path of given.files) checkSyntax(path)
if (problems.length === 0) await checkRun()
for (const [number, pattern] of given.patterns) {
  try {
    new RegExp(pattern, 'u')
  } catch (error) {
    problems.push(`Example ${number}: the regular expression cannot be read: ${error.message}.`)
  }
}
process.stdout.write(JSON.stringify({ problems }))

/** As the one kind of module or the other: which it is, Node sees only when it runs. */
function checkSyntax(path) {
  const source = readFileSync(posix.join(root, path), 'utf8')
  let asModule
  try {
    if (!path.endsWith('.cjs')) modules.set(path, new SourceTextModule(source, { identifier: path }))
    if (modules.has(path)) return
  } catch (error) {
    asModule = error
  }
  try {
    if (path.endsWith('.mjs')) throw asModule
    compileFunction(source, ['exports', 'require', 'module', '__filename', '__dirname'], { filename: path })
  } catch (asScript) {
    const isModule = /^\s*(?:import|export)\b/m.test(source)
    const error = isModule && asModule ? asModule : asScript
    problems.push(`${path}${lineOf(path)}: ${error.message}.`)
  }
}

/** Node tells only with this where the syntax is wrong. */
function lineOf(path) {
  const { stderr } = spawnSync(process.execPath, ['--check', posix.join(root, path)], { encoding: 'utf8' })
  const line = /^[^\n]*:(\d+)\n/.exec(stderr)?.[1]
  return line === undefined ? '' : `, line ${line}`
}

async function checkRun() {
  const source = readFileSync(posix.join(root, 'main.js'), 'utf8')
  const isCommon = /\bexports\b/.test(source) && !/^\s*(?:import|export)\b/m.test(source)
  if (isCommon) {
    if (!/\brun\b/.test(source)) problems.push(noRun)
    return
  }
  const main = modules.get('main.js')
  if (!main) return
  try {
    await main.link(resolveModule)
  } catch (error) {
    problems.push(`main.js cannot be loaded: ${error.message}.`)
    return
  }
  const names = Object.getOwnPropertyNames(main.namespace)
  if (names.includes('run')) checkFunction(() => main.namespace.run)
  // Whatever the default export is, it may bring it.
  else if (!names.includes('default')) problems.push(noRun)
}

function checkFunction(read) {
  let run
  try {
    run = read()
  } catch {
    return
  }
  if (run === undefined) return
  if (typeof run !== 'function') problems.push('main.js: run must be a function: export function run(args, context).')
  else if (run.length > 2) problems.push('main.js: run takes one or two arguments: run(args) or run(args, context).')
}

async function resolveModule(specifier, from) {
  const name = specifier.replace(/^node:/, '')
  if (builtinModules.includes(name) || specifier.startsWith('node:')) return await builtin(`node:${name}`)
  if (!/^\.{1,2}\//.test(specifier)) {
    throw new Error(`${JSON.stringify(specifier)} is no module of Node and no file of its own`)
  }
  const path = posix.join(posix.dirname(from.identifier), specifier)
  const module = modules.get(path)
  const isKnown = given.files.includes(path) || given.others.includes(path)
  if (!isKnown) throw new Error(`${from.identifier} imports ${JSON.stringify(specifier)}, which is not there`)
  // Of a module of the older kind, or of data, only the whole is certain.
  return module && /^\s*(?:import|export)\b/m.test(readFileSync(posix.join(root, path), 'utf8')) ? module : await opaque(path)
}

async function builtin(name) {
  const names = Object.keys(await import(name))
  return new SyntheticModule([...new Set([...names, 'default'])], () => {}, { identifier: name })
}

async function opaque(path) {
  const source = readFileSync(posix.join(root, path), 'utf8')
  const names = Array.from(source.matchAll(/[A-Za-z_$][\w$]*/g), ([word]) => word)
  return new SyntheticModule([...new Set([...names, 'default'])], () => {}, { identifier: path })
}
