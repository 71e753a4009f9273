/*
 * Calls `run` of the capability in /capability, or a piece of code beside it, and reports over descriptor 3.
 *
 * Everything comes over standard input, so that no secret is in an argument or the environment. The report is the last thing
 * that happens: with it the process ends, whatever is still under way.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'

const main = '/capability/main.js'
const codePlace = '/tmp/code'
const codeFile = `${codePlace}/code.mjs`
/** What Node ends with when it has nothing more to wait for, and somebody still waits. */
const unsettledCode = 13

const given = JSON.parse(readFileSync(0, 'utf8'))
const storage = given.context.storage === null ? undefined : createStorage(given.context.storage)
const context = Object.freeze({ secrets: Object.freeze(given.context.secrets), ...(storage && { storage: storage.seen }) })

process.on('uncaughtException', (error) => end(exception(error)))
process.on('exit', (code) => {
  if (given.code !== undefined && code === 0) return write({ ok: true, value: null })
  write(code === unsettledCode ? failure('unsettled', '') : failure('exit', `process.exit(${code})`))
})

try {
  end(given.code === undefined ? await runCapability() : await runCode(given.code))
} catch (error) {
  end(exception(error))
}

async function runCapability() {
  const module = await import(main)
  const run = module.run ?? module.default?.run
  if (typeof run !== 'function') return failure('no_run', 'main.js')
  const value = await run(given.input, context)
  if (value === undefined || value === null) return failure('nothing', String(value))
  try {
    const text = JSON.stringify(value)
    return text === undefined ? failure('no_json', `it is a ${typeof value}`) : { ok: true, value: text }
  } catch (error) {
    return failure('no_json', String(error?.message ?? error))
  }
}

/** The folder of the files cannot be written, and a module finds only what lies beside it: so all of them lie there, too. */
async function runCode(code) {
  mkdirSync(codePlace)
  for (const name of readdirSync('/capability')) symlinkSync(`/capability/${name}`, `${codePlace}/${name}`)
  writeFileSync(codeFile, code)
  globalThis.context = context
  globalThis.require = createRequire('/capability/')
  await import(codeFile)
  return { ok: true, value: null }
}

/** What is kept between calls, as JSON. What is set here is written once `run` has returned. */
function createStorage(entries) {
  const kept = new Map(entries)
  const changes = new Map()
  const seen = Object.freeze({
    get(key, fallback) {
      const text = kept.get(key)
      return text === undefined ? fallback : JSON.parse(text)
    },
    set(key, value) {
      if (typeof key !== 'string') throw new TypeError(`The key of a stored value is a text, not ${typeof key}`)
      const text = JSON.stringify(value)
      if (text === undefined) throw new TypeError(`A stored value is JSON, and a ${typeof value} is none`)
      kept.set(key, text)
      changes.set(key, text)
    },
    delete(key) {
      if (kept.delete(key)) changes.set(key, null)
    },
    keys: () => [...kept.keys()],
  })
  return { seen, changes }
}

function failure(kind, detail, isService = false) {
  return { ok: false, kind, detail, isService }
}

function exception(error) {
  const stack = error instanceof Error ? (error.stack ?? String(error)) : `It threw ${String(error)}`
  const isOwn = (line) => !/^ {4}at /.test(line) || line.includes('/capability/') || line.includes(codeFile)
  const own = stack.replaceAll('file:///', '/').split('\n').filter(isOwn).join('\n').replaceAll(codeFile, '<code>')
  const place = error instanceof SyntaxError ? placeOf() : ''
  return failure('exception', `${place}${own}`, isOfService(error))
}

/** Node tells only on a terminal where the syntax is wrong. */
function placeOf() {
  const [file, name] = given.code === undefined ? [main, main] : [codeFile, '<code>']
  const checked = spawnSync(process.execPath, ['--check', file], { encoding: 'utf8' })
  return checked.status === 0 ? '' : `${checked.stderr.replace(file, name).split('\n').slice(0, 3).join('\n')}\n`
}

/** Whether what failed lies at the other end of the network, or on the way there. */
function isOfService(error) {
  const codes = [error?.code, error?.cause?.code, error?.cause?.errors?.[0]?.code]
  const names = [error?.name, error?.cause?.name]
  const ofNetwork = /^(?:ECONN|EHOST|ENET|ETIMEDOUT|ENOTFOUND|EAI_|EPIPE|UND_ERR_)/
  return codes.some((code) => typeof code === 'string' && ofNetwork.test(code)) || names.includes('TimeoutError')
}

function write(report) {
  const text = JSON.stringify({ ...report, storage: storage ? [...storage.changes] : [] })
  for (let rest = Buffer.from(text); rest.length > 0; ) rest = rest.subarray(writeSync(3, rest))
}

function end(report) {
  process.removeAllListeners('exit')
  write(report)
  process.exit(0)
}
