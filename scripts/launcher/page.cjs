'use strict'

// In a clone the page is built at the first start and again when its sources change. A package contains it.

const crypto = require('crypto')
const fs = require('fs')
const path = require('path')
const files = require('./json-file.cjs')
const leftovers = require('./leftovers.cjs')
const messages = require('./messages.cjs')
const npm = require('./npm.cjs').npm
const places = require('./places.cjs')
const runChild = require('./run-child.cjs').runChild

const web = path.join(places.root, 'web')
const built = path.join(places.runtime, 'page')
const stampFile = path.join(places.runtime, 'page.json')
const pauseMs = 60 * 60 * 1000

/** Whether there is nothing to do: it is not wanted, it is current, or the build failed a short time ago. */
function isSettled(wanted) {
  if (!wanted || places.isPackage || !fs.existsSync(web)) return true
  const stamp = files.readJson(stampFile)
  if (!stamp || stamp.sources !== hashOfSources()) return false
  return stamp.isBuilt ? fs.existsSync(path.join(built, 'index.html')) : Date.now() - stamp.failedAt < pauseMs
}

/** `node` is a new enough one. The folder appears complete or not at all. A failure is remembered. */
function build(node) {
  const sources = hashOfSources()
  const done = messages.announce('building the page (when it has changed)')
  const temporary = leftovers.temporaryFolder()
  return installTools()
    .then(() => runVite(node, temporary))
    .then(
      () => {
        fs.rmSync(built, { recursive: true, force: true })
        fs.renameSync(temporary, built)
        files.writeJson(stampFile, { sources: sources, isBuilt: true })
        leftovers.removeLeftovers()
        done()
      },
      (error) => {
        leftovers.removeLeftovers()
        if (!error.signal) files.writeJson(stampFile, { sources: sources, isBuilt: false, failedAt: Date.now() })
        throw error
      }
    )
}

/** The packages that build the page are separate from those that run Familiar. */
function installTools() {
  const record = path.join(web, 'node_modules', '.package-lock.json')
  const lock = files.hashOf(path.join(web, 'package-lock.json'))
  const stamp = path.join(places.runtime, 'page-tools.json')
  const known = files.readJson(stamp)
  if (known && known.lock === lock && known.installed === files.hashOf(record)) return Promise.resolve()
  return npm({
    args: ['install', '--prefix', web, '--no-save', '--include=dev', '--include=optional'],
    what: 'what builds the page',
    into: path.join(web, 'node_modules'),
    help: 'check the network connection, then start again; without it Familiar runs, but without its page.',
  }).then(() => files.writeJson(stamp, { lock: lock, installed: files.hashOf(record) }))
}

function runVite(node, folder) {
  const vite = path.join(web, 'node_modules', 'vite', 'bin', 'vite.js')
  const args = [vite, 'build', '--outDir', folder, '--logLevel', 'warn']
  // Tests set another value, which would build in the slow development React.
  const env = Object.assign({}, process.env, { NODE_ENV: 'production' })
  return runChild(node, args, { cwd: web, env: env, stdio: ['ignore', 'pipe', 'pipe'] }).then((result) => {
    if (result.received) throw messages.interrupted(result.received)
    if (result.code !== 0) throw messages.expected(`the page could not be built:\n${result.output.slice(-2000)}`)
  })
}

function hashOfSources() {
  const hash = crypto.createHash('sha256')
  for (const name of listFiles(web, '').sort()) {
    hash.update(`${name}\0`).update(fs.readFileSync(path.join(web, name)))
  }
  return hash.digest('hex')
}

function listFiles(root, folder) {
  return fs.readdirSync(path.join(root, folder), { withFileTypes: true }).reduce((found, entry) => {
    const name = path.join(folder, entry.name)
    if (entry.name === 'node_modules' || /\.test\.tsx?$/.test(entry.name)) return found
    return found.concat(entry.isDirectory() ? listFiles(root, name) : [name])
  }, [])
}

/** The message if the page could not be built: Familiar starts anyway. */
function isMissing(error) {
  return messages.expected(`${error.message}\n  Familiar starts without its page; everything else works.`)
}

exports.build = build
exports.isMissing = isMissing
exports.isSettled = isSettled
