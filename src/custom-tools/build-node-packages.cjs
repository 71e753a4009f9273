// Installs npm packages into a scratch folder and prints their files: a line of JSON before the bytes of each.
const { spawnSync } = require('node:child_process')
const { readdirSync, readFileSync, writeSync } = require('node:fs')
const { join, relative } = require('node:path')
const { deflateSync } = require('node:zlib')

const target = '/tmp/packages'

function put(bytes) {
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at)
}

function putHeader(header) {
  put(Buffer.from(`${JSON.stringify(header)}\n`))
}

function putFiles(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) putFiles(path)
    if (!entry.isFile()) continue
    const content = readFileSync(path)
    const packed = deflateSync(content, { level: 1 })
    putHeader({ path: relative(join(target, 'node_modules'), path), size: content.length, packed: packed.length })
    put(packed)
  }
}

const { npm, names, registry } = JSON.parse(readFileSync(0, 'utf8'))
const options = [
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--no-bin-links',
  '--omit=dev',
  '--fetch-retries=1',
  '--loglevel=error',
]
const places = ['--prefix', target, '--cache', '/tmp/cache', '--registry', registry]
// The certificates of the machine, which may have those of a company.
const program = ['--use-system-ca', join(npm, 'bin/npm-cli.js'), 'install']
const done = spawnSync(process.execPath, [...program, ...options, ...places, '--', ...names])
if (done.status === 0) {
  putFiles(join(target, 'node_modules'))
  putHeader({ end: true })
} else putHeader({ error: String(done.stderr).trim().slice(-2_000) || `npm ended with ${done.status ?? done.signal}` })
