'use strict'

const fs = require('fs')
const installedSet = require('./installed-set.cjs').installedSet
const files = require('./json-file.cjs')
const messages = require('./messages.cjs')
const npm = require('./npm.cjs').npm
const places = require('./places.cjs')
const platform = require('./platform.cjs')

function areReady(wanted) {
  const lock = files.hashOf(places.lockFile)
  // A published package has no lock file: npm installed its dependencies with it.
  if (lock === null) return true
  const stamp = intactStamp()
  return stamp !== null && stamp.lock === lock && (stamp.set === 'full' || wanted === 'production')
}

/** The stamp, if node_modules is still what the stamp was written for. */
function intactStamp() {
  const stamp = files.readJson(places.stamp)
  const installed = files.hashOf(places.record)
  return stamp && installed && stamp.installed === installed && stamp.platform === platform ? stamp : null
}

/** Makes `areReady` true, or rejects with a message that says what was tried. */
function install(wanted) {
  checkLockFile()
  const lock = files.hashOf(places.lockFile)
  const before = intactStamp() || stampInstallByHand(lock)
  if (areReady(wanted)) return Promise.resolve()
  // A developer who ran the tests will run them again: keep the larger set.
  const set = wanted === 'full' || (before && before.set === 'full') ? 'full' : 'production'
  const done = messages.announce(describe(before, lock))
  files.writeJson(places.stamp, { isUnfinished: true })
  // Only a complete tree is changed in place, so that a running program keeps most of its files.
  if (!before) fs.rmSync(places.modules, { recursive: true, force: true })
  // Not `npm ci`: it empties node_modules under a running program, and it refuses a lock file that was written where
  // the optional package of some other platform could not be seen. checkLockFile does what it would have checked.
  return npm({
    args: ['install', '--no-save', '--include=optional', set === 'full' ? '--include=dev' : '--omit=dev'],
    what: 'the dependencies',
    into: places.modules,
    help: 'check the network connection and the permissions of this folder, then start again.',
  }).then(() => {
    writeStamp(lock, set)
    done()
  })
}

function stampInstallByHand(lock) {
  const stamp = files.readJson(places.stamp)
  // Our own install was cut off: packages may be half there without npm's record showing it.
  if (stamp && stamp.isUnfinished) return null
  const set = installedSet()
  return set ? writeStamp(lock, set) : null
}

function writeStamp(lock, set) {
  const stamp = { lock: lock, installed: files.hashOf(places.record), set: set, platform: platform }
  files.writeJson(places.stamp, stamp)
  return stamp
}

function describe(before, lock) {
  if (!before) return 'installing dependencies (once)'
  return before.lock === lock ? 'adding the dependencies of tests and checks (once)' : 'updating dependencies'
}

function checkLockFile() {
  const manifest = files.readJson(places.manifest) || {}
  const lock = files.readJson(places.lockFile)
  const locked = (lock && lock.packages && lock.packages['']) || {}
  ;['dependencies', 'devDependencies', 'optionalDependencies'].forEach((kind) => {
    const asked = manifest[kind] || {}
    const given = locked[kind] || {}
    const differing = Object.keys(Object.assign({}, asked, given)).filter((name) => asked[name] !== given[name])
    if (differing.length === 0) return
    throw messages.expected(
      `package-lock.json does not match package.json (${kind}: ${differing.join(', ')}).
  To fix it: \`npm install\` brings them together; \`git checkout package.json package-lock.json\` undoes your changes.`
    )
  })
}

exports.areReady = areReady
exports.install = install
