'use strict'

const fs = require('fs')
const path = require('path')
const places = require('./places.cjs')

/** A folder for a download that is not checked yet. */
function temporaryFolder() {
  removeLeftovers()
  return fs.mkdtempSync(path.join(places.runtime, 'install-'))
}

/** Called under the lock, so that no other start is using them. */
function removeLeftovers() {
  for (const name of fs.readdirSync(places.runtime)) {
    if (/^install-/.test(name)) fs.rmSync(path.join(places.runtime, name), { recursive: true, force: true })
  }
}

exports.removeLeftovers = removeLeftovers
exports.temporaryFolder = temporaryFolder
