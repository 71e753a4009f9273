'use strict'

// A file of its own because an old Node rejects a whole file for this one expression.
module.exports = (address) => import(address)
