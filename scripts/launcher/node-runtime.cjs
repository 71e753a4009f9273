'use strict'

const childProcess = require('child_process')
const fs = require('fs')
const path = require('path')
const readJson = require('./json-file.cjs').readJson
const leftovers = require('./leftovers.cjs')
const messages = require('./messages.cjs')
const npm = require('./npm.cjs').npm
const places = require('./places.cjs')
const platform = require('./platform.cjs')

// bin/familiar has the same name.
const minimum = '24.15'
// Older ones come with an npm that cannot read our lock file.
const oldestThatInstalls = '20'

// Each platform's package has its own newest version. The integrity is compared after npm's own check, so that a
// changed package is refused like a changed dependency.
const pins = {
  'darwin-x64': {
    version: '24.18.1',
    integrity: 'sha512-tCT5i2LaCG+9j7HXlF1ioPfVSbHRTp3MgWDknJ0ofG8V2eRDNEpqhC3y9DLmvUpTPYsSwHBSccIeB3yl92hTIQ==',
  },
  'linux-arm64': {
    version: '24.22.0',
    integrity: 'sha512-xbI0deR0+gzJizE0IdT7x3ewSqtvWW7tx6QlJIBI6IszUY41yrPmOeS+b6WkA7DmSS8VKJRcMthWVwO1LbjamQ==',
  },
  'linux-x64': {
    version: '24.21.0',
    integrity: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  'win-x64': {
    version: '24.21.0',
    integrity: 'sha512-0ddSuAi9KnmYzfjJwKfFUO5YfljMVfa9smiGRQXmp5QGhm8KXk7xbqkFNeaPXVaL6sfZ5oGfCD7q8wWY/TnypA==',
  },
}

const folder = path.join(places.runtime, `node-${platform}`)
const ownNode = `install Node ${minimum} or newer yourself (package manager or nodejs.org)`

/** The path of a Node that can run our TypeScript, or null. */
function ready() {
  if (isAtLeast(process.versions.node, minimum)) return process.execPath
  const installed = readJson(path.join(folder, 'package.json'))
  const binary = binaryIn(folder)
  return installed && isAtLeast(installed.version, minimum) && fs.existsSync(binary) ? binary : null
}

/** An update replaces the Node that runs. */
function isThisOne(binary) {
  return binary === process.execPath && isAtLeast(process.versions.node, minimum)
}

function canInstall() {
  return isAtLeast(process.versions.node, oldestThatInstalls)
}

/** Makes `ready` true, or rejects with a message that says what was tried. The folder appears complete or not at all. */
function install() {
  const pin = pins[platform]
  // Its package name differs from the pattern of the others.
  const name = `${platform === 'darwin-arm64' ? 'node-bin' : 'node'}-${platform}`
  const wanted = `${name}@${pin ? pin.version : `^${minimum}.0`}`
  const temporary = leftovers.temporaryFolder()
  const done = messages.announce(`installing Node 24 into ${places.isPackage ? places.runtime : '.runtime'} (once)`)
  return npm({
    args: ['install', '--prefix', temporary, '--no-save', wanted],
    what: 'Node 24',
    into: places.runtime,
    help: `check the network connection and start again. Or ${ownNode}.`,
  })
    .then(() => {
      const modules = path.join(temporary, 'node_modules')
      checkIntegrity(modules, name, pin)
      checkThatItRuns(binaryIn(path.join(modules, name)), wanted)
      if (fs.existsSync(folder)) fs.renameSync(folder, path.join(temporary, 'replaced'))
      fs.renameSync(path.join(modules, name), folder)
    })
    .then(
      () => {
        leftovers.removeLeftovers()
        done()
      },
      (error) => {
        leftovers.removeLeftovers()
        throw error
      }
    )
}

function binaryIn(place) {
  return path.join(place, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
}

function checkIntegrity(modules, name, pin) {
  const record = readJson(path.join(modules, '.package-lock.json'))
  const entry = (record && record.packages && record.packages[`node_modules/${name}`]) || {}
  if (!pin || entry.integrity === pin.integrity) return
  throw messages.expected(
    `${name} is not the package that was expected (${entry.integrity}): not used.\n  To fix it: ${ownNode}.`
  )
}

function checkThatItRuns(binary, wanted) {
  const result = childProcess.spawnSync(binary, ['--version'], { encoding: 'utf8' })
  const version = String(result.stdout || '').trim()
  if (result.status === 0 && isAtLeast(version.slice(1), minimum)) return
  const reason = result.error ? result.error.message : `${version} ${result.stderr || ''}`.trim()
  throw messages.expected(`${wanted} does not serve on this machine: ${reason}\n  To fix it: ${ownNode}.`)
}

function isAtLeast(version, wanted) {
  const have = String(version).split('.').map(Number)
  const need = wanted.split('.').map(Number)
  if (have[0] !== need[0]) return have[0] > need[0]
  return need.length === 1 || have[1] >= need[1]
}

function tooOld() {
  return messages.expected(
    `Node ${process.version} (${process.execPath}) is too old.
  Install Node ${oldestThatInstalls} or newer with npm; Familiar downloads the rest. Best is ${minimum} or newer.`
  )
}

function doesNotStart(binary, error) {
  return messages.expected(
    `${binary} does not start (${error.message}).
  Remove ${folder}; the next start installs it again.`
  )
}

exports.canInstall = canInstall
exports.doesNotStart = doesNotStart
exports.install = install
exports.isThisOne = isThisOne
exports.pins = pins
exports.ready = ready
exports.tooOld = tooOld
