'use strict'

// Starts a TypeScript file of this repository with a new enough Node and the locked dependencies, and downloads both
// if they are missing. This file and launcher/ have no dependencies and use old syntax on purpose: an old Node must be
// able to read them, if only to say that it is too old. In a package the file is JavaScript, and npm has installed the
// dependencies.
//
// Every download goes through one folder (places.cjs) under one lock and counts as done only after its last step: the
// next start repairs an interrupted one.

const fs = require('fs')
const path = require('path')
const url = require('url')
const dependencies = require('./launcher/dependencies.cjs')
const embeddingModel = require('./launcher/embedding-model.cjs')
const knownAnswer = require('./launcher/known-answer.cjs').knownAnswer
const messages = require('./launcher/messages.cjs')
const node = require('./launcher/node-runtime.cjs')
const page = require('./launcher/page.cjs')
const places = require('./launcher/places.cjs')
const runChild = require('./launcher/run-child.cjs').runChild
const sandbox = require('./launcher/sandbox.cjs')
const withLock = require('./launcher/start-lock.cjs').withLock

/**
 * Runs `options.file` with `options.args`, in this process when its Node is new enough or can replace itself, otherwise
 * in a child whose exit code or signal becomes ours. `options.dependencies` is 'production' or 'full'; a full set also
 * serves production. `options.embedding` and `options.sandbox` say whether the embedding model and bubblewrap are
 * fetched: 'no', 'once', or 'again' to retry a recent failure.
 * With `options.page` the page is built if its sources have changed.
 * With `options.staysSmall` the program gets a Node that keeps little memory, because it runs for days.
 * With `options.onlyPrepares` nothing is run: the shell that called does it (bin/familiar).
 * The working directory stays the caller's.
 */
function launch(options) {
  const answer = knownAnswer(options.args)
  if (answer !== null) {
    process.stdout.write(answer)
    if (options.onlyPrepares) process.exitCode = answeredAlready
    return
  }
  prepare(options).then(
    (binary) => {
      if (options.onlyPrepares) return
      const command = (options.staysSmall ? smallNode : []).concat(options.file, options.args)
      const isHere = node.isThisOne(binary)
      if (isHere && !(options.staysSmall && process.execve)) return runHere(options.file, options.args)
      const env = isHere ? programEnv() : withFirstInPath(path.dirname(binary), programEnv())
      if (process.execve) process.execve(binary, [binary].concat(command), env)
      else runWith(binary, command, env)
    },
    (error) => {
      if (error.signal) return messages.dieOf(error.signal)
      messages.printError(error)
      process.exitCode = 1
    }
  )
}

/** bin/familiar has the same number. */
const answeredAlready = 99

function prepare(options) {
  return prepareProgram(options.dependencies).then((binary) =>
    prepareEmbedding(options.embedding)
      .then(() => prepareSandbox(options.sandbox))
      .then(() => preparePage(options.page, binary))
      .then(() => binary)
  )
}

function prepareProgram(wanted) {
  const binary = node.ready()
  if (binary && dependencies.areReady(wanted)) return Promise.resolve(binary)
  if (!node.canInstall()) return Promise.reject(node.tooOld())
  return withLock(() =>
    // The previous holder of the lock may have done the work.
    Promise.resolve(node.ready() || node.install()).then(() => {
      if (!dependencies.areReady(wanted)) return dependencies.install(wanted)
    })
  ).then(node.ready)
}

/** A failure does not stop the start: without the model, recall matches words only. */
function prepareEmbedding(wanted) {
  if (embeddingModel.isSettled(wanted) || !node.canInstall()) return Promise.resolve()
  return withLock(() => {
    if (!embeddingModel.isSettled(wanted)) return embeddingModel.install()
  }).catch((error) => {
    if (error.signal) throw error
    messages.printError(embeddingModel.isMissing(error))
  })
}

/** A failure does not stop the start: without a sandbox no tool code runs, everything else works. */
function prepareSandbox(wanted) {
  if (sandbox.isSettled(wanted)) return Promise.resolve()
  return withLock(() => {
    if (!sandbox.isSettled(wanted)) return sandbox.install()
  }).catch((error) => {
    if (error.signal) throw error
    messages.printError(error)
  })
}

/** A failure does not stop the start. */
function preparePage(wanted, binary) {
  if (page.isSettled(wanted)) return Promise.resolve()
  return withLock(() => {
    if (!page.isSettled(wanted)) return page.build(binary)
  }).catch((error) => {
    if (error.signal) throw error
    messages.printError(page.isMissing(error))
  })
}

function runHere(file, args) {
  process.argv = [process.execPath, file].concat(args)
  require('module').enableCompileCache(places.compileCache)
  require('./launcher/import-module.cjs')(url.pathToFileURL(file).href)
}

// Measured on an idle daemon and after 500 turns: 135 → 105 MB and 340 → 180 MB. The heap itself is about 35 MB in all
// cases; the rest is what Node and the C library would keep for later. One helper thread instead of four: on two cores
// the others only got in the way, and a turn took a quarter longer. `--expose-gc` lets the daemon give back what its
// start has used (src/terminal/serve-daemon.ts).
const smallNode = ['--min-semi-space-size=8', '--max-semi-space-size=8', '--v8-pool-size=1', '--expose-gc']

function programEnv() {
  return Object.assign({ NODE_COMPILE_CACHE: places.compileCache, MALLOC_ARENA_MAX: '1' }, process.env)
}

function withFirstInPath(folder, env) {
  const name = Object.keys(env).filter(isPathName)[0] || 'PATH'
  env[name] = folder + (env[name] ? path.delimiter + env[name] : '')
  return env
}

function runWith(binary, command, env) {
  runChild(binary, command, { stdio: 'inherit', env: env }).then(
    (result) => {
      if (result.signal) messages.dieOf(result.signal)
      else process.exitCode = result.code
    },
    (error) => {
      messages.printError(node.doesNotStart(binary, error))
      process.exitCode = 1
    }
  )
}

function isPathName(name) {
  return process.platform === 'win32' ? /^path$/i.test(name) : name === 'PATH'
}

function main() {
  const words = process.argv.slice(2)
  const takes = (word) => words[0] === word && words.shift() === word
  const embedding = takes('--embedding') ? 'once' : 'no'
  const wantsPage = takes('--page')
  const file = words.shift()
  if (file && fs.existsSync(file)) {
    launch({ file: path.resolve(file), args: words, dependencies: 'full', embedding: embedding, page: wantsPage })
    return
  }
  const usage = 'usage: launch.cjs [--embedding] [--page] FILE.ts [arguments]'
  messages.printError(messages.expected(file ? `there is no file ${file}` : usage))
  process.exitCode = 2
}

exports.launch = launch

if (require.main === module) main()
