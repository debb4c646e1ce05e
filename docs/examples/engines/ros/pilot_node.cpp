// pilot_node.cpp - the ROS node: scans in, velocities out. All that the pilot knows of ROS is here, so a node for
// another version of ROS, or for another robot's software, is this file again.
//
// Parameters of its own: `network`, the file of the network; `rate`, steps per second (default 200). It reads `scan`,
// and writes `cmd_vel` and, once a second, `diagnostics`.
//
// SPDX-License-Identifier: MIT
#include <diagnostic_msgs/DiagnosticArray.h>
#include <geometry_msgs/Twist.h>
#include <ros/ros.h>
#include <sensor_msgs/LaserScan.h>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "message.h"
#include "pilot.hpp"

namespace {

geometry_msgs::Twist to_message(const robot::Command& command) {
  geometry_msgs::Twist message;
  message.linear.x = command.forward;
  message.angular.z = command.turn;
  return message;
}

diagnostic_msgs::DiagnosticArray to_message(const robot::Report& report, bool late) {
  diagnostic_msgs::DiagnosticStatus status;
  status.name = "pilot: loop";
  status.hardware_id = "synfire";
  status.level = late ? diagnostic_msgs::DiagnosticStatus::WARN : diagnostic_msgs::DiagnosticStatus::OK;
  status.message = late ? "late steps in the last second" : "in time";
  const auto add = [&](const char* key, const std::string& value) {
    diagnostic_msgs::KeyValue pair;
    pair.key = key;
    pair.value = value;
    status.values.push_back(pair);
  };
  add("steps", std::to_string(report.steps));
  add("late steps", std::to_string(report.late));
  add("steps without a fresh scan", std::to_string(report.blind));
  add("latency p50 (us)", std::to_string(report.p50));
  add("latency p99 (us)", std::to_string(report.p99));
  add("latency max (us)", std::to_string(report.longest));
  diagnostic_msgs::DiagnosticArray message;
  message.header.stamp = ros::Time::now();
  message.status.push_back(status);
  return message;
}

void run() {
  ros::NodeHandle node, own("~");
  std::string file;
  if (!own.getParam("network", file)) throw std::runtime_error("the parameter ~network is missing: the network's file");
  ros::Publisher wheels = node.advertise<geometry_msgs::Twist>("cmd_vel", 1);
  ros::Publisher diagnostics = node.advertise<diagnostic_msgs::DiagnosticArray>("diagnostics", 10);
  robot::Pilot pilot(file, own.param("rate", robot::steps_per_second),
                     [&](const robot::Command& command) { wheels.publish(to_message(command)); });
  const ros::Subscriber laser = node.subscribe<sensor_msgs::LaserScan>(
      "scan", 1,
      [&](const sensor_msgs::LaserScan::ConstPtr& scan) {
        pilot.see(scan->ranges.data(), scan->ranges.size(), scan->angle_min, scan->angle_increment);
      },
      ros::VoidConstPtr(), ros::TransportHints().tcpNoDelay());
  std::uint64_t late = 0;
  const ros::WallTimer every_second = node.createWallTimer(ros::WallDuration(1), [&](const ros::WallTimerEvent&) {
    const robot::Report report = pilot.report();
    diagnostics.publish(to_message(report, report.late != late));
    late = report.late;
  });
  ros::spin();
  const robot::Report report = pilot.report();
  std::printf("%llu steps, %llu late\n", static_cast<unsigned long long>(report.steps),
              static_cast<unsigned long long>(report.late));
}

}  // namespace

int main(int argc, char** argv) {
  complain_as("pilot");
  ros::init(argc, argv, "pilot");
  try {
    run();
    return EXIT_SUCCESS;
  } catch (const std::exception& failed) {
    complain("%s", failed.what());
    return EXIT_FAILURE;
  }
}
