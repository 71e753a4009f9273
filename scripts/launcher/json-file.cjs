'use strict'

const crypto = require('crypto')
const fs = require('fs')

/** The value, or null when the file is missing or half written. */
function readJson(file) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'))
  } catch (_error) {
    return null
  }
}

/** The SHA-256 of a file's content, or null when it cannot be read. */
function hashOf(file) {
  try {
    return crypto.createHash('sha256').update(fs.readFileSync(file)).digest('hex')
  } catch (_error) {
    return null
  }
}

function writeJson(file, value) {
  const temporary = `${file}.${process.pid}`
  fs.writeFileSync(temporary, `${JSON.stringify(value)}\n`)
  fs.renameSync(temporary, file)
}

exports.hashOf = hashOf
exports.readJson = readJson
exports.writeJson = writeJson
