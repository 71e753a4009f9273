'use strict'

const fs = require('fs')
const files = require('./json-file.cjs')
const node = require('./node-runtime.cjs')
const places = require('./places.cjs')

/** The answer to `--version` and `--help` before Node is downloaded; null for other commands. */
function knownAnswer(args) {
  if (!places.isPackage || node.ready() || args.length > 1) return null
  const word = args[0]
  if (word === '--version') return `${files.readJson(places.manifest).version}\n`
  const asksForHelp = word === undefined || word === '--help' || word === '-h' || word === 'help'
  return asksForHelp ? fs.readFileSync(places.help, 'utf8') : null
}

exports.knownAnswer = knownAnswer
