import './program.js';
