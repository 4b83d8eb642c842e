// flame.js - interaction with a flame graph in a browser: clicking a frame zooms in to it, "Search" highlights frames by name. It
// is part of each SVG file that whammc writes (src/view/svg.c).
(function () {
  'use strict';
  var root = document.documentElement;
  var SVG = 'http://www.w3.org/2000/svg', LEAST_TEXT = 24;
  function element(id) { return document.getElementById(id); }

  var frames = Array.prototype.map.call(root.querySelectorAll('.f'), function (node) {
    var title = node.querySelector('title').textContent;
    return {
      node: node, name: title.slice(0, title.lastIndexOf(' (')), text: node.querySelector('text'),
      x: parseFloat(node.getAttribute('x')), width: parseFloat(node.getAttribute('width')), y: +node.getAttribute('y')
    };
  });

  // Shows a frame in a part of the picture, both in percent.
  function place(frame, x, width, pixels) {
    frame.node.setAttribute('x', x.toFixed(4) + '%');
    frame.node.setAttribute('width', width.toFixed(4) + '%');
    frame.node.style.display = '';
    var wide = width / 100 * pixels >= LEAST_TEXT;
    if (wide && !frame.text) {
      frame.text = document.createElementNS(SVG, 'text');
      frame.text.setAttribute('x', 3);
      frame.text.setAttribute('y', 12);
      frame.text.textContent = frame.name;
      frame.node.appendChild(frame.text);
    } else if (!wide && frame.text) {
      frame.node.removeChild(frame.text);
      frame.text = null;
    }
  }

  // Widths in the file have four digits after the point.
  function contains(outer, inner) {
    return outer.x <= inner.x + 0.001 && inner.x + inner.width <= outer.x + outer.width + 0.001;
  }

  function zoom(to) {
    var pixels = root.getBoundingClientRect().width || 1200;
    frames.forEach(function (frame) {
      frame.node.style.opacity = '';
      if (!to) {
        place(frame, frame.x, frame.width, pixels);
      } else if (frame.y > to.y && contains(frame, to)) {
        place(frame, 0, 100, pixels);
        frame.node.style.opacity = 0.5;
      } else if (frame.y <= to.y && contains(to, frame)) {
        place(frame, (frame.x - to.x) / to.width * 100, frame.width / to.width * 100, pixels);
      } else {
        frame.node.style.display = 'none';
      }
    });
    element('reset').style.display = to ? 'inline' : 'none';
  }

  // The part of the picture, in percent, that the frames cover.
  function covered(list) {
    var end = 0, sum = 0;
    list.slice().sort(function (a, b) { return a.x - b.x; }).forEach(function (frame) {
      var from = Math.max(end, frame.x), to = frame.x + frame.width;
      if (to > from) { sum += to - from; end = to; }
    });
    return Math.min(sum, 100);
  }

  // Marks the frames whose names match the regular expression; the empty one matches none.
  function search(pattern) {
    var matched = element('matched'), expression = null;
    try {
      expression = pattern ? new RegExp(pattern) : null;
    } catch (error) { /* it matches nothing */ }
    var found = frames.filter(function (frame) {
      var match = expression !== null && expression.test(frame.name);
      frame.node.setAttribute('class', match ? 'f found' : 'f');
      return match;
    });
    matched.textContent = 'Matched: ' + covered(found).toFixed(1) + '%';
    matched.style.display = pattern ? 'inline' : 'none';
    return found.length;
  }

  frames.forEach(function (frame) {
    frame.node.addEventListener('click', function () { zoom(frame); });
  });
  element('reset').addEventListener('click', function () { zoom(null); });
  element('search').style.display = 'inline';
  element('search').addEventListener('click', function () {
    var pattern = window.prompt('Names to mark (a regular expression):', '');
    if (pattern !== null) search(pattern);
  });
  window.flame = { zoom: zoom, search: search, frames: frames };
})();
